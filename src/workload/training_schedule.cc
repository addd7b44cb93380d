#include "workload/training_schedule.h"

#include <algorithm>

#include "base/check.h"

namespace photonrail::workload {

std::vector<Pass> pipeline_schedule(model::Schedule schedule, std::int64_t stage, std::int64_t stages,
                                    std::int64_t microbatches) {
  PR_CHECK(0 <= stage && stage < stages && microbatches >= 1, "no such stage, or nothing to schedule");
  const bool alternate = schedule == model::Schedule::one_f_one_b;
  const std::int64_t warm_up = alternate ? std::min(microbatches, stages - 1 - stage) : microbatches;
  std::vector<Pass> passes;
  passes.reserve(static_cast<std::size_t>(2 * microbatches));
  for (std::int64_t i = 0; i < warm_up; ++i) passes.push_back({true, i});
  for (std::int64_t i = warm_up; i < microbatches; ++i) {
    passes.push_back({true, i});
    passes.push_back({false, i - warm_up});
  }
  for (std::int64_t i = microbatches - warm_up; i < microbatches; ++i) passes.push_back({false, i});
  return passes;
}

}  // namespace photonrail::workload

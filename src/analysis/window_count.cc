#include "analysis/window_count.h"

#include <algorithm>

#include "base/check.h"

namespace photonrail::analysis {
namespace {

using model::Sharding;

bool gathers_every_pass(const WindowCountInputs& in) {
  return in.sharding == Sharding::zero3 && in.reshard_after_forward;
}

std::int64_t forward_passes_with_data(const WindowCountInputs& in) {
  if (in.sharding != Sharding::zero3) return 0;
  return in.reshard_after_forward ? in.microbatches : 1;
}

std::int64_t backward_passes_with_data(const WindowCountInputs& in) {
  return in.sharding == Sharding::zero2 || gathers_every_pass(in) ? in.microbatches : 1;
}

std::int64_t ends_in_data(const WindowCountInputs& in) {
  return in.sharding == Sharding::zero1 || in.sharding == Sharding::zero2 ? 1 : 0;
}

// How often the stage turns from a forward to a backward pass.
std::int64_t turns(const WindowCountInputs& in, std::int64_t stage) {
  if (in.schedule == model::Schedule::gpipe) return 1;
  const std::int64_t warm_up = std::min(in.microbatches, in.stages - 1 - stage);
  return std::max<std::int64_t>(1, in.microbatches - warm_up);
}

std::int64_t at_first_stage(const WindowCountInputs& in) {
  const std::int64_t m = in.microbatches;
  const std::int64_t tied = in.tied_embeddings ? 1 + ends_in_data(in) : 0;
  if (gathers_every_pass(in)) return 4 * m - 2 * turns(in, 0) + tied;
  if (in.sharding == Sharding::zero3) return 2 + tied;
  return (in.sharding == Sharding::zero2 ? 2 * m - 1 : 1) + tied;
}

std::int64_t at_last_stage(const WindowCountInputs& in) {
  const std::int64_t m = in.microbatches;
  if (gathers_every_pass(in)) return 4 * m - 2 * turns(in, in.stages - 1);
  if (in.sharding == Sharding::zero3) return m == 1 ? 2 : 4;
  return (in.sharding == Sharding::zero2 ? 2 * m : 2) + ends_in_data(in);
}

}  // namespace

std::int64_t closed_form_windows(const WindowCountInputs& in, std::int64_t stage) {
  PR_CHECK(in.stages >= 1 && in.microbatches >= 1 && in.data >= 1, "degrees are at least 1");
  PR_CHECK(stage >= 0 && stage < in.stages, "the stage exists");
  if (in.stages == 1 || in.data == 1) return 0;
  if (stage == 0) return at_first_stage(in);
  if (stage + 1 == in.stages) return at_last_stage(in);
  return 2 * (forward_passes_with_data(in) + backward_passes_with_data(in)) + ends_in_data(in);
}

std::int64_t closed_form_windows(const WindowCountInputs& in) {
  std::int64_t sum = 0;
  for (std::int64_t stage = 0; stage < in.stages; ++stage) sum += closed_form_windows(in, stage);
  return sum;
}

}  // namespace photonrail::analysis

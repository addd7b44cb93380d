// What the scorers of inference tables share: plans by configuration, and points from them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "inference/plan.h"
#include "validation/score.h"

namespace photonrail::validation {

// One configuration of an inference row.
struct InferenceSetup {
  catalog::Model model;
  catalog::Gpu gpu;
  inference::Precision precision;
  inference::Parallel parallel;
  inference::Engine engine;
};

// Plans are compiled once for each configuration.
class PlanShelf {
 public:
  Result<const inference::Plan*> plan(const InferenceSetup& setup);

 private:
  std::map<std::string, operators::KernelModel> kernels_;
  std::map<std::string, std::unique_ptr<inference::Plan>> plans_;
};

// A point without figures: id, source, names.
Point point_of(const Csv& table, std::size_t row, std::string_view quantity, std::string_view unit);

// Fills ours and the error, or the refusal.
void fill(Point& point, Result<double> ours);

std::string text_of(const InferenceSetup& setup);  // "llama-3.1-70b fp8 on 4 x B200, trtllm"

}  // namespace photonrail::validation

// What the scorers of training tables share: one row's run, and the points that it makes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "analytic/training_evaluator.h"
#include "validation/score.h"

namespace photonrail::validation {

// One training run.
struct TrainingRun {
  std::string model;  // as the table calls it
  std::string gpu;    // catalog name
  analytic::DecoderShape shape;
  analytic::TrainingConfig config;
  std::optional<Rate> network;  // per GPU and direction, where a cluster has another than the catalog's GPU
  std::optional<Rate> memory;   // bandwidth, where the GPU is a variant of the catalog's
  std::int64_t domain = 0;      // GPUs of one scale-up domain; 0: the catalog's
};

// Evaluators are made once for each model, GPU and number of GPUs.
class EvaluatorShelf {
 public:
  explicit EvaluatorShelf(const Scoring& scoring) : scoring_(scoring) {}
  Result<analytic::StepEstimate> estimate(const TrainingRun& run);

 private:
  const Scoring& scoring_;
  std::map<std::string, std::unique_ptr<analytic::TrainingEvaluator>> evaluators_;
};

// The layers of a model of the catalog; refuses latent attention and layers that are no attention.
Result<analytic::DecoderShape> decoder_of(const catalog::Model& model);

// A GPT of the Megatron papers: feed-forward of 4 h, plain, learnt positions, embeddings tied, 51,200 tokens.
analytic::DecoderShape megatron_gpt(std::int64_t hidden, std::int64_t heads, std::int64_t layers);

Result<std::int64_t> whole(const Csv& table, std::size_t row, std::string_view column);
std::int64_t whole_or(const Csv& table, std::size_t row, std::string_view column, std::int64_t otherwise);

}  // namespace photonrail::validation

// The published comparison, its two models and what the paper leaves open. Private to this folder.
//
// Open, and how it is chosen:
//   lengths, batches  The configuration of the published pair of utilisations (MFU 13.6 % and 49.7 %) is not known. Of
//                     all combinations of the lengths and batches that the paper lists for its validation (8 inputs x 7
//                     outputs x 7 batches) the one is taken whose pair is nearest to the published one; T2's gain, T4,
//                     and all consistent figures follow at that same configuration.
//   normalisation     per compute chip: 49.7 / 13.6 = 3.65 is the published throughput gain.
//   "up to" (latency) the largest gain of a decode step over the listed batches, weights alone at the full rates.
//   formats           FP8 weights and cache.
//   1T                the shape of Megatron's model of 10^12 parameters; two boxes of TP8 that take turns.
#pragma once

#include <array>

#include "base/units.h"
#include "inference/scenario.h"
#include "photonic_fabric/as_published.h"
#include "photonic_fabric/rows.h"

namespace photonrail::photonic_fabric {

inline constexpr double kPublishedRate = 26.8e12;  // bytes/s
inline constexpr std::array<double, 8> kInputs = {1, 32, 64, 128, 256, 512, 1024, 2048};
inline constexpr std::array<double, 7> kOutputs = {32, 64, 128, 256, 512, 1024, 2048};
inline constexpr std::array<double, 7> kBatches = {1, 2, 4, 8, 16, 32, 64};

struct Claim {
  const char* throughput_id;
  const char* latency_id;
  const char* model;
  std::int64_t boxes;  // of 8 H100
  double throughput_gain;
  double latency_gain;
};
inline constexpr std::array<Claim, 2> kClaims = {
    {{"T2", "T3", "llama-3.1-405b", 1, 3.66, 1.40}, {"T4", "T4", "megatron-1t", 2, 7.04, 1.41}}};

struct Configuration {
  double input = 512;
  double output = 512;
  double batch = 1;
};
std::string text_of(const Configuration& c);  // "batch 4, 2048 tokens in, 128 out"

// Baseline and pool of a claim, by the calibrated kernels of src/inference.
inference::InferenceScenario baseline_scenario(const Claim& claim, const Configuration& c);
inference::InferenceScenario pool_scenario(const Claim& claim, const Configuration& c, double rate);

// Gains at physically consistent rates, against the paper's baseline and against the best that a search finds; the
// bandwidth at which the pool breaks even.
Status add_consistent_rows(const Claim& claim, const Configuration& c, const catalog::Catalog& catalog, Rows& rows);

}  // namespace photonrail::photonic_fabric

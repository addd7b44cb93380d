// The comparison of the paper in closed form: two constant utilisations, weights and caches over the bandwidth, and
// measured all-reduces. Private to this folder.
//
// Theory. P parameters of one byte, L layers, hidden size h, caches of K bytes a token; a stage is G chips of peak F
// and bandwidth M each, S stages take turns on the whole batch of B (the published gains of one and two boxes, 3.66 and
// 7.04, differ by a factor of two: boxes that take turns). With c cached tokens and n new ones of each sequence:
//   flops = B n (2 P + 4 L q d c'),  c' = c, or n / 2 for a prompt
//   t = max((P + B c K) / (G M u_b), flops / (G F u_f)) + 2 L t_AR(2 B n h)         (S stages: P / S each, S times)
// t_AR: all-reduce over G chips as measured, the engine's own or NCCL, whichever is quicker; none for one chip.
// A request: t(prompt) + (out - 1) t(token at the middle of the answer). MFU = flops / (all chips F t).
#pragma once

#include <cstdint>
#include <optional>

#include "catalog/catalog.h"
#include "operators/kernel_model.h"

namespace photonrail::photonic_fabric {

struct Utilisation {
  double bandwidth = 1;
  double flops = 1;
};
// As data/hardware/celestisim_bandwidth_sensitivity.csv was made; the paper's own curves (its figure 6) are not public.
inline constexpr Utilisation kAsPublished = {0.85, 0.7};

struct ModelSize {
  double parameters = 0;
  double cache = 0;  // bytes of a token
  double layers = 0;
  double hidden = 0;
  double attention = 0;  // operations of one token for each cached one: 4 L q d
};
ModelSize size_of(const catalog::Model& model);

struct Machine {
  double chips = 1;  // of one stage
  double stages = 1;
  double bandwidth = 0;  // bytes/s of one chip
  double peak = 0;       // FLOP/s of one chip
  std::optional<operators::CollectiveCurve> all_reduce;
  double all_chips() const { return chips * stages; }
};

struct StepCost {
  double seconds = 0;
  double collective = 0;  // of it
  double flops = 0;
  bool compute_bound = false;
};
StepCost decode_cost(const ModelSize& m, const Machine& machine, const Utilisation& u, double batch, double context);
StepCost prefill_cost(const ModelSize& m, const Machine& machine, const Utilisation& u, double batch, double tokens);

struct RequestCost {
  double seconds = 0;  // of a static batch
  double mfu = 0;
  double tokens_per_second_per_chip = 0;  // output tokens
};
RequestCost request_cost(const ModelSize& m, const Machine& machine, const Utilisation& u, double batch, double input,
                         double output);

}  // namespace photonrail::photonic_fabric

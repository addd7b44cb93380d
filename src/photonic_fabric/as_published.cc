#include "photonic_fabric/as_published.h"

#include <algorithm>

namespace photonrail::photonic_fabric {
namespace {

// `rows` new tokens in all, `cached` bytes read beside the weights.
StepCost cost(const ModelSize& m, const Machine& machine, const Utilisation& u, double rows, double cached,
              double flops) {
  StepCost out;
  out.flops = flops;
  const double read = (m.parameters + cached) / (machine.chips * machine.bandwidth * u.bandwidth);
  const double work = flops / (machine.chips * machine.peak * u.flops);
  out.compute_bound = work > read;
  if (machine.all_reduce) out.collective = 2 * m.layers * machine.all_reduce->at(2 * rows * m.hidden).seconds;
  out.seconds = std::max(read, work) + out.collective;
  return out;
}

}  // namespace

ModelSize size_of(const catalog::Model& model) {
  const std::int64_t head = model.head_size > 0 ? model.head_size : model.hidden / model.heads;
  ModelSize m;
  m.parameters = static_cast<double>(catalog::count_parameters(model).total);
  m.cache = 2.0 * static_cast<double>(model.layers * model.kv_heads * head);
  m.layers = static_cast<double>(model.layers);
  m.hidden = static_cast<double>(model.hidden);
  m.attention = 4.0 * static_cast<double>(model.layers * model.heads * head);
  return m;
}

StepCost decode_cost(const ModelSize& m, const Machine& machine, const Utilisation& u, double batch, double context) {
  return cost(m, machine, u, batch, batch * context * m.cache, batch * (2 * m.parameters + m.attention * context));
}

StepCost prefill_cost(const ModelSize& m, const Machine& machine, const Utilisation& u, double batch, double tokens) {
  const double rows = batch * tokens;
  return cost(m, machine, u, rows, 0, rows * (2 * m.parameters + m.attention * tokens / 2));
}

RequestCost request_cost(const ModelSize& m, const Machine& machine, const Utilisation& u, double batch, double input,
                         double output) {
  const StepCost prompt = prefill_cost(m, machine, u, batch, input);
  const StepCost token = decode_cost(m, machine, u, batch, input + output / 2);
  RequestCost out;
  out.seconds = prompt.seconds + (output - 1) * token.seconds;
  const double flops = prompt.flops + (output - 1) * token.flops;
  out.mfu = flops / (machine.all_chips() * machine.peak * out.seconds);
  out.tokens_per_second_per_chip = batch * output / out.seconds / machine.all_chips();
  return out;
}

}  // namespace photonrail::photonic_fabric

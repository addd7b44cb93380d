// Evaluating a plan: rows of a pass, and the sum over its operators.
#include "inference/plan.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace photonrail::inference {

using operators::KernelTime;

const char* name_of(Bound bound) {
  switch (bound) {
    case Bound::memory: return "memory";
    case Bound::compute: return "compute";
    case Bound::communication: return "communication";
    case Bound::overhead: return "overhead";
  }
  return "?";
}

namespace {

void accumulate(double times, const KernelTime& kernel, double& part, Basis& part_basis, Basis& basis) {
  part += times * kernel.seconds;
  part_basis = std::max(part_basis, kernel.basis);
  basis = std::max(basis, kernel.basis);
}

void scale(StepTime& step, double times) {
  for (double* part : {&step.seconds, &step.linear, &step.attention, &step.collective, &step.pointwise, &step.overhead,
                       &step.flops, &step.memory_bytes, &step.link_bytes, &step.network_bytes}) {
    *part *= times;
  }
  for (double& flops : step.flops_of) flops *= times;
}

// Nodes and weights of Gauss and Legendre on [0, 1]; exact for polynomials of degree 7.
constexpr std::array<double, 4> kNodes = {0.0694318442029737, 0.3300094782075719, 0.6699905217924281,
                                          0.9305681557970263};
constexpr std::array<double, 4> kWeights = {0.1739274225687269, 0.3260725774312731, 0.3260725774312731,
                                            0.1739274225687269};

}  // namespace

StepTime& StepTime::operator+=(const StepTime& other) {
  if (other.seconds > seconds) bound = other.bound;
  seconds += other.seconds;
  linear += other.linear;
  attention += other.attention;
  collective += other.collective;
  pointwise += other.pointwise;
  overhead += other.overhead;
  flops += other.flops;
  for (std::size_t i = 0; i < flops_of.size(); ++i) flops_of[i] += other.flops_of[i];
  memory_bytes += other.memory_bytes;
  link_bytes += other.link_bytes;
  network_bytes += other.network_bytes;
  basis_of.linear = std::max(basis_of.linear, other.basis_of.linear);
  basis_of.attention = std::max(basis_of.attention, other.basis_of.attention);
  basis_of.collective = std::max(basis_of.collective, other.basis_of.collective);
  basis_of.pointwise = std::max(basis_of.pointwise, other.basis_of.pointwise);
  basis = std::max(basis, other.basis);
  return *this;
}

// Sequences of the fullest attention copy; a lone sequence is whole on one.
double Plan::per_copy(double sequences) const { return std::max(sequences / copies_, std::min(sequences, 1.0)); }

double Plan::micro_batch(double batch) const { return std::max(batch / stages_, std::min(batch, 1.0)); }

Plan::Rows Plan::rows_of(const Pass& pass) const {
  const double decodes = per_copy(pass.decodes);
  const double prompts = per_copy(pass.prompts);
  Rows rows{};
  rows[kTokens] = decodes + prompts * pass.tokens;
  rows[kDecodes] = decodes;
  rows[kPrompted] = prompts * pass.tokens;
  rows[kExpanded] = prompts * (pass.tokens + pass.past);
  rows[kLogits] = decodes + prompts;
  rows[kAllTokens] = pass.decodes + pass.prompts * pass.tokens;
  return rows;
}

void Plan::add_products(const Rows& rows, StepTime& step) const {
  for (const Product& product : products_) {
    const double m = rows[product.rows];
    if (m <= 0) continue;
    accumulate(product.times, product.curve.at(m), step.linear, step.basis_of.linear, step.basis);
    step.flops_of[static_cast<std::size_t>(product.dtype)] += product.times * product.flops_per_row * m;
    step.memory_bytes += product.times * (product.weight_bytes + product.bytes_per_row * m);
  }
}

void Plan::add_latent(const Rows& rows, StepTime& step) const {
  if (rows[kDecodes] <= 0) return;
  const double m = rows[kDecodes] * latent_heads_;
  for (const Grouped& product : latent_) {
    accumulate(product.times, product.curve.at(m, latent_heads_), step.linear, step.basis_of.linear, step.basis);
    step.flops_of[static_cast<std::size_t>(product.dtype)] += product.times * product.flops_per_row * m;
    step.memory_bytes += product.times * (product.weight_bytes * latent_heads_ + product.bytes_per_row * m);
  }
}

// Rows and touched experts of the busiest rank. Both are sums over tokens that choose at random: mean plus `deviations`
// standard deviations, and never more than there are.
void Plan::add_experts(const Rows& rows, StepTime& step) const {
  const double tokens = rows[kAllTokens];
  if (experts_.total == 0 || tokens <= 0) return;
  const double chosen = tokens * experts_.per_token;
  const double touch = -std::expm1(tokens * experts_.log_untouched);
  const double mean_touched = experts_.local * touch;
  const double touched = std::min({mean_touched + experts_.deviations * std::sqrt(mean_touched * (1 - touch)),
                                   experts_.local, std::max(chosen, 1.0)});
  const double mean_rows = chosen / experts_.ranks;
  const double busiest = std::min(mean_rows + experts_.deviations * std::sqrt(tokens * experts_.row_variance), chosen);
  const double m = std::max(busiest, touched);
  for (const Grouped& product : grouped_) {
    accumulate(product.times, product.curve.at(m, touched), step.linear, step.basis_of.linear, step.basis);
    step.flops_of[static_cast<std::size_t>(product.dtype)] += product.times * product.flops_per_row * mean_rows;
    step.memory_bytes += product.times * (product.weight_bytes * mean_touched + product.bytes_per_row * mean_rows);
  }
}

void Plan::add_transfers(const Rows& rows, StepTime& step) const {
  for (const Transfer& transfer : transfers_) {
    const double bytes = rows[transfer.rows] * transfer.bytes_per_row;
    if (bytes <= 0) continue;
    accumulate(transfer.times, transfer.curve.at(bytes), step.collective, step.basis_of.collective, step.basis);
    const double sent = transfer.times * transfer.curve.sent(bytes);
    step.link_bytes += sent;
    if (transfer.network) step.network_bytes += sent;
  }
}

void Plan::add_traffic(const Rows& rows, StepTime& step) const {
  for (const Traffic& traffic : traffic_) {
    const double bytes = rows[traffic.rows] * traffic.bytes_per_row;
    if (bytes <= 0) continue;
    accumulate(traffic.times, kernels_.pointwise_time(bytes, traffic.kernels), step.pointwise, step.basis_of.pointwise,
               step.basis);
    step.memory_bytes += traffic.times * bytes;
  }
}

namespace {

struct Attended {
  double layers = 0;
  double context = 0;
};

}  // namespace

void Plan::add_decode_attention(double sequences, double context, double times, StepTime& step) const {
  if (sequences <= 0) return;
  const double chosen = index_tokens_ > 0 ? std::min(context, index_tokens_) : context;
  for (const Attended part : {Attended{layers_, chosen}, Attended{window_layers_, std::min(context, window_)}}) {
    if (part.layers <= 0) continue;
    const double n = times * part.layers;
    accumulate(n, decode_attention_.at(sequences, part.context), step.attention, step.basis_of.attention, step.basis);
    step.flops_of[static_cast<std::size_t>(precision_.attention)] +=
        n * decode_attention_.flops(sequences, part.context);
    step.memory_bytes += n * decode_attention_.bytes(sequences, part.context);
  }
  if (index_tokens_ > 0) add_index(sequences, context, times, step);
}

// Beyond the tokens that are chosen, latent attention is sparse in prefill too: each token then reads its own choice,
// as a decode does. Windowed layers: pieces of w tokens that see half a window before them attend as many as each token
// seeing w does.
void Plan::add_prefill_attention(double sequences, double tokens, double past, StepTime& step) const {
  if (sequences * tokens <= 0) return;
  const double full = past + tokens;
  if (index_tokens_ > 0 && full > index_tokens_) {
    add_decode_attention(sequences * tokens, past + tokens / 2, 1, step);
    return;
  }
  const auto add = [&](double layers, double n, double each, double before) {
    if (layers <= 0) return;
    accumulate(layers, prefill_attention_.at(n, each, before), step.attention, step.basis_of.attention, step.basis);
    step.flops_of[static_cast<std::size_t>(precision_.attention)] += layers * prefill_attention_.flops(n, each, before);
  };
  add(layers_, sequences, tokens, past);
  if (full > window_) {
    const double piece = std::min(window_, tokens);
    add(window_layers_, sequences * tokens / piece, piece, window_ - piece / 2);
  } else {
    add(window_layers_, sequences, tokens, past);
  }
  step.memory_bytes += sequences * full * cache_per_token_ * stages_;
}

// Scores of `queries` tokens against `context` keys: one byte an element, two operations for each head.
void Plan::add_index(double queries, double context, double times, StepTime& step) const {
  const double bytes = queries * context * index_size_;
  const KernelTime read = kernels_.pointwise_time(bytes, 2);
  accumulate(times * index_layers_, {read.seconds, Basis::assumed}, step.attention, step.basis_of.attention,
             step.basis);
  step.flops_of[static_cast<std::size_t>(Dtype::fp8)] += times * index_layers_ * 2 * bytes * index_heads_;
  step.memory_bytes += times * index_layers_ * bytes;
}

StepTime Plan::without_attention(const Rows& rows) const {
  StepTime step;
  add_products(rows, step);
  add_latent(rows, step);
  add_experts(rows, step);
  add_transfers(rows, step);
  add_traffic(rows, step);
  step.overhead = step_overhead_ + kernel_count_ * to_seconds(engine_.kernel_gap) +
                  rows[kLogits] * to_seconds(engine_.sequence_overhead);
  return step;
}

// The host runs ahead of long kernels and falls behind short ones.
void Plan::wait_for_launches(StepTime& step) const {
  const double launches = kernel_count_ * to_seconds(engine_.launch_time);
  step.overhead += std::max(0.0, launches - (step.linear + step.attention + step.collective + step.pointwise));
}

void Plan::close(StepTime& step) const {
  step.collective += skew_ * (step.linear + step.attention + step.pointwise);
  step.seconds = step.linear + step.attention + step.collective + step.pointwise + step.overhead;
  double compute = 0;
  step.flops = 0;
  const operators::DeviceRates& rates = kernels_.rates();
  for (std::size_t i = 0; i < step.flops_of.size(); ++i) {
    if (step.flops_of[i] <= 0) continue;
    step.flops += step.flops_of[i];
    compute += step.flops_of[i] / rates.peak[i];
  }
  const double kernels = step.linear + step.attention + step.pointwise;
  if (kernels >= std::max(step.collective, step.overhead)) {
    step.bound = compute > step.memory_bytes / rates.memory ? Bound::compute : Bound::memory;
  } else {
    step.bound = step.collective >= step.overhead ? Bound::communication : Bound::overhead;
  }
}

StepTime Plan::evaluate(const Pass& pass) const {
  const Rows rows = rows_of(pass);
  StepTime step = without_attention(rows);
  add_decode_attention(rows[kDecodes], pass.context, 1, step);
  add_prefill_attention(per_copy(pass.prompts), pass.tokens, pass.past, step);
  if (pass.prompts > 0 && rows[kTokens] > static_cast<double>(engine_.captured_tokens)) wait_for_launches(step);
  close(step);
  return step;
}

StepTime Plan::decode(double batch, double context) const {
  return evaluate({.decodes = micro_batch(batch), .context = context});
}

// Only attention depends on the context. Its sum over contexts c, c + 1, ... is the integral from c - 1/2 on (the
// midpoint rule read backwards), taken at four nodes; in two parts, divided at the geometric mean, where the context
// grows so much that its curve bends.
StepTime Plan::decode_run(double batch, double context, double steps) const {
  if (steps <= 0) return {};
  const Rows rows = rows_of({.decodes = micro_batch(batch)});
  StepTime run = without_attention(rows);
  scale(run, steps);
  const auto integrate = [&](double from, double to) {
    for (std::size_t i = 0; i < kNodes.size(); ++i) {
      const double at = from + kNodes[i] * (to - from);
      add_decode_attention(rows[kDecodes], std::max(at, 1.0), kWeights[i] * (to - from), run);
    }
  };
  const double first = context - 0.5;
  const double last = first + steps;
  if (last > 3 * first && first > 0) {
    const double middle = std::sqrt(first * last);
    integrate(first, middle);
    integrate(middle, last);
  } else {
    integrate(first, last);
  }
  close(run);
  return run;
}

StepTime Plan::prefill(double sequences, double tokens, double past) const {
  return evaluate({.prompts = sequences, .tokens = tokens, .past = past});
}

StepTime Plan::mixed(double batch, double context, double tokens, double past) const {
  return evaluate({.decodes = micro_batch(batch),
                   .context = context,
                   .prompts = tokens > 0 ? 1.0 : 0.0,
                   .tokens = tokens,
                   .past = past});
}

double Plan::model_flops(double context) const {
  const auto multiplied = static_cast<double>(active_parameters_ - embedding_parameters_);
  return 2 * multiplied + attention_flops_ * context;
}

Dtype peak_format(const Precision& precision, bool sparse, const operators::DeviceRates& rates) {
  const auto peak = [&](Dtype dtype) { return rates.peak[static_cast<std::size_t>(dtype)]; };
  Dtype largest = sparse ? precision.experts : precision.weights;
  for (const Dtype other : {precision.weights, precision.attention, precision.head}) {
    if (peak(other) > peak(largest)) largest = other;
  }
  return largest;
}

double Plan::peak() const {
  const Dtype dtype = peak_format(precision_, experts_.total > 0, kernels_.rates());
  return kernels_.rates().peak[static_cast<std::size_t>(dtype)] * static_cast<double>(gpus());
}

}  // namespace photonrail::inference

#include "operators/transformer.h"

namespace photonrail::operators {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

// A product of [rows x inner] activations with [inner x columns] weights.
struct Product {
  double rows = 0;
  double inner = 0;
  double columns = 0;
  double flops() const { return 2 * rows * inner * columns; }
};

Operator product_forward(const Product& p, const TransformerShape& s) {
  const double o = real(s.operand_bytes);
  return {p.flops(), (p.rows * p.inner + p.inner * p.columns) * o + p.rows * p.columns * real(s.element_bytes)};
}

Work product_backward(const Product& p, const TransformerShape& s, const GpuRates& gpu) {
  const double o = real(s.operand_bytes);
  const double weight = p.inner * p.columns;
  const Operator input_gradient{p.flops(),
                                (p.rows * p.columns + weight) * o + p.rows * p.inner * real(s.element_bytes)};
  const Operator weight_gradient{p.flops(),
                                 (p.rows * p.columns + p.rows * p.inner) * o + 2 * weight * real(s.gradient_bytes)};
  return work_of(input_gradient, gpu) + work_of(weight_gradient, gpu);
}

// `passes` reads and writes of the activations that one rank holds outside of the tensor-parallel part.
Work elementwise(double passes, const TransformerShape& s, const GpuRates& gpu) {
  return work_of({0, passes * real(s.tokens) * real(s.hidden) / real(s.sequence_shards) * real(s.element_bytes)}, gpu);
}

constexpr double kNormForward = 2;       // read input, write output
constexpr double kNormBackward = 3;      // read input and output gradient, write input gradient
constexpr double kResidualForward = 3;   // read both terms, write the sum
constexpr double kResidualBackward = 3;  // the gradients of both branches, summed

Product qkv(const TransformerShape& s) {
  return {real(s.tokens), real(s.hidden), real((s.query_heads + 2 * s.kv_heads) * s.head_size)};
}
Product projection(const TransformerShape& s) {
  return {real(s.tokens), real(s.query_heads * s.head_size), real(s.hidden)};
}
Product up(const TransformerShape& s) {
  return {real(s.tokens), real(s.hidden), real((s.feed_forward_matrices - 1) * s.feed_forward)};
}
Product down(const TransformerShape& s) { return {real(s.tokens), real(s.feed_forward), real(s.hidden)}; }
Product logits(const TransformerShape& s) { return {real(s.tokens), real(s.hidden), real(s.vocabulary)}; }

double core_flops(const TransformerShape& s) {
  return 2 * real(s.tokens) * real(s.sequence) * real(s.query_heads * s.head_size);
}
// Bytes of queries, keys, values and outputs together.
double core_bytes(const TransformerShape& s) {
  return real(s.tokens) * real((2 * s.query_heads + 2 * s.kv_heads) * s.head_size) * real(s.element_bytes);
}
Operator core_forward(const TransformerShape& s) { return {core_flops(s), core_bytes(s)}; }
// Reads all four and the output's gradient, writes the gradients of queries, keys and values: each moved twice.
Operator core_backward(const TransformerShape& s) { return {2 * core_flops(s), 2 * core_bytes(s)}; }

// Values in and out of the activation function.
double activation_elements(const TransformerShape& s, double passes) {
  return real(s.tokens) * real(s.feed_forward) * passes;
}

}  // namespace

std::int64_t attention_parameters(const TransformerShape& s) {
  return s.hidden * (2 * s.query_heads + 2 * s.kv_heads) * s.head_size;
}
std::int64_t feed_forward_parameters(const TransformerShape& s) {
  return s.feed_forward_matrices * s.hidden * s.feed_forward;
}
std::int64_t norm_parameters(const TransformerShape& s) { return s.hidden; }
std::int64_t layer_parameters(const TransformerShape& s) {
  return attention_parameters(s) + feed_forward_parameters(s) + 2 * norm_parameters(s);
}
std::int64_t vocabulary_parameters(const TransformerShape& s) { return s.vocabulary * s.hidden; }

Work attention_forward(const TransformerShape& s, const GpuRates& gpu) {
  return elementwise(kNormForward, s, gpu) + work_of(product_forward(qkv(s), s), gpu) + work_of(core_forward(s), gpu) +
         work_of(product_forward(projection(s), s), gpu) + elementwise(kResidualForward, s, gpu);
}

Work attention_backward(const TransformerShape& s, const GpuRates& gpu, bool recompute_core) {
  Work work = product_backward(projection(s), s, gpu);
  if (recompute_core) work += work_of(core_forward(s), gpu);
  return work + work_of(core_backward(s), gpu) + product_backward(qkv(s), s, gpu) + elementwise(kNormBackward, s, gpu) +
         elementwise(kResidualBackward, s, gpu);
}

Work feed_forward_forward(const TransformerShape& s, const GpuRates& gpu) {
  const double passes = real(s.feed_forward_matrices);  // g-1 read, 1 written
  return elementwise(kNormForward, s, gpu) + work_of(product_forward(up(s), s), gpu) +
         work_of({0, activation_elements(s, passes) * real(s.element_bytes)}, gpu) +
         work_of(product_forward(down(s), s), gpu) + elementwise(kResidualForward, s, gpu);
}

Work feed_forward_backward(const TransformerShape& s, const GpuRates& gpu) {
  const double passes = 2 * real(s.feed_forward_matrices) - 1;  // g-1 inputs and 1 gradient read, g-1 written
  return product_backward(down(s), s, gpu) + work_of({0, activation_elements(s, passes) * real(s.element_bytes)}, gpu) +
         product_backward(up(s), s, gpu) + elementwise(kNormBackward, s, gpu) + elementwise(kResidualBackward, s, gpu);
}

Work embedding_forward(const TransformerShape& s, const GpuRates& gpu) {
  return work_of({0, 2 * real(s.tokens) * real(s.hidden) * real(s.element_bytes)}, gpu);
}

Work embedding_backward(const TransformerShape& s, const GpuRates& gpu) {
  const double elements = real(s.tokens) * real(s.hidden);
  return work_of({0, elements * real(s.element_bytes) + 2 * elements * real(s.gradient_bytes)}, gpu);
}

Work head_forward(const TransformerShape& s, const GpuRates& gpu) {
  const double loss = real(s.tokens) * real(s.vocabulary) * real(s.element_bytes);  // reads the logits
  return elementwise(kNormForward, s, gpu) + work_of(product_forward(logits(s), s), gpu) + work_of({0, loss}, gpu);
}

Work head_backward(const TransformerShape& s, const GpuRates& gpu) {
  const double loss = 2 * real(s.tokens) * real(s.vocabulary) * real(s.element_bytes);  // logits to their gradients
  return work_of({0, loss}, gpu) + product_backward(logits(s), s, gpu) + elementwise(kNormBackward, s, gpu);
}

Work optimizer_step(std::int64_t parameters, const TransformerShape& s, const GpuRates& gpu) {
  constexpr double kStateBytes = 24;  // two moments and the master weight, 4 bytes each, read and written
  return work_of({0, real(parameters) * (kStateBytes + real(s.gradient_bytes + s.element_bytes))}, gpu);
}

}  // namespace photonrail::operators

// Training steps a second on one core: whole evaluations (compute, communication, pipeline, memory) of configurations
// of GPT-3 175B and a 1T model on 4,096 H100, over the space that Calculon searches: tensor, pipeline and data degree,
// micro-batch, interleaving, recomputation, sharding, sequence parallelism, overlaps, precision. Every evaluation is
// another configuration out of a shuffled list; all results enter a checksum, and none is kept. The promised rate is
// checked, and that no evaluation allocates. Calculon: 343 a second in one process (its own system and model files).
// usage: training
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "allocations.h"
#include "analytic/training_evaluator.h"
#include "base/random.h"

namespace {

using namespace photonrail;
using analytic::TrainingConfig;

constexpr std::int64_t kGpus = 4096;
constexpr double kPromised = 2e5;

struct Point {
  std::size_t model = 0;
  TrainingConfig config;
};

analytic::DecoderShape gpt(std::int64_t hidden, std::int64_t heads, std::int64_t layers) {
  analytic::DecoderShape s;
  s.layers = layers;
  s.hidden = hidden;
  s.heads = s.kv_heads = heads;
  s.head_size = hidden / heads;
  s.feed_forward = 4 * hidden;
  s.feed_forward_matrices = 2;
  s.vocabulary = 51'200;
  s.tied_embeddings = true;
  return s;
}

// Every choice that does not change which degrees divide what.
void add_modes(std::vector<Point>& list, Point point) {
  for (int bits = 0; bits < 3 * 3 * 2 * 2 * 2 * 2; ++bits) {
    TrainingConfig& c = point.config;
    int rest = bits;
    const auto take = [&](int n) {
      const int digit = rest % n;
      rest /= n;
      return digit;
    };
    c.recompute = static_cast<analytic::Recompute>(take(3));
    c.sharding = static_cast<analytic::Sharding>(take(3));
    c.sequence_parallel = take(2) == 1 && c.tensor > 1;
    c.overlap_tensor = take(2) == 1 && c.tensor > 1;
    c.overlap_gradients = take(2) == 1;
    c.precision = take(2) == 1 ? analytic::Precision::fp8 : analytic::Precision::bf16;
    // Without tensor ranks two of the choices are none: leave out the repetitions.
    if (c.tensor == 1 && (bits / 9 % 4) != 0) continue;
    list.push_back(point);
  }
}

void add_configurations(std::vector<Point>& list, std::size_t model, const analytic::DecoderShape& shape) {
  constexpr std::int64_t kBatch = 4096;
  for (std::int64_t tensor = 1; tensor <= 32; tensor *= 2) {
    for (std::int64_t pipeline = 1; pipeline <= 128; pipeline *= 2) {
      if (shape.heads % tensor != 0 || shape.layers % pipeline != 0) continue;
      const std::int64_t data = kGpus / tensor / pipeline;
      for (std::int64_t micro = 1; micro <= 16 && data * micro <= kBatch; micro *= 2) {
        for (std::int64_t chunks = 1; chunks <= shape.layers / pipeline; ++chunks) {
          if (shape.layers / pipeline % chunks != 0 || (pipeline == 1 && chunks > 1)) continue;
          Point point;
          point.model = model;
          TrainingConfig& c = point.config;
          c.sequence = 2048;
          c.global_batch = kBatch;
          c.micro_batch = micro;
          c.tensor = tensor;
          c.pipeline = pipeline;
          c.data = data;
          c.interleave = chunks;
          add_modes(list, point);
        }
      }
    }
  }
}

void shuffle(std::vector<Point>& list) {
  RandomStream random(1, "bench.training");
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
}

}  // namespace

int main() {
  const catalog::Catalog catalog = catalog::Catalog::builtin().value();
  const auto kernels = operators::KernelModel::make(catalog.gpu("H100").value()).value();
  const std::vector<analytic::DecoderShape> shapes = {gpt(12288, 96, 96), gpt(25600, 160, 128)};
  std::vector<analytic::TrainingEvaluator> evaluators;
  std::vector<Point> list;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    evaluators.push_back(analytic::TrainingEvaluator::make(shapes[i], kernels, {kGpus, 8}).value());
    add_configurations(list, i, shapes[i]);
  }
  shuffle(list);
  double checksum = 0;
  std::size_t fit = 0;
  const auto evaluate = [&](const Point& point) {
    const analytic::StepEstimate e = evaluators[point.model].evaluate(point.config);
    checksum += e.time.seconds + e.memory.total() * 1e-12;
    fit += e.fits ? 1 : 0;
  };
  for (std::size_t i = 0; i < list.size() / 10; ++i) evaluate(list[i]);  // warm the caches of the CPU
  checksum = 0;
  fit = 0;
  const std::uint64_t before = allocations();
  const auto start = std::chrono::steady_clock::now();
  for (const Point& point : list) evaluate(point);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double each = static_cast<double>(list.size()) / seconds.count();
  const std::uint64_t allocated = allocations() - before;
  const bool kept = each >= kPromised && allocated == 0;
  std::printf(
      "%-28s %12.0f /s   promised %9.0f   %s   (%zu configurations, %zu fit, %llu allocations, checksum %.6e)\n",
      "training steps", each, kPromised, kept ? "ok" : "MISSED", list.size(), fit,
      static_cast<unsigned long long>(allocated), checksum);
  return kept ? 0 : 1;
}

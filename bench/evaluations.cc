// Evaluations a second on one core: decode steps (one pass of decodes at one batch and context), and whole requests
// (the first token and the decode integral of a static batch). Every evaluation is another (plan, batch, context) out
// of a shuffled list; all results enter a checksum, and none is kept. The two rates that the project promises are
// checked, and that no evaluation allocates. usage: evaluations [--points N] [--csv]     --csv prints the list, for
// another program to run
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "allocations.h"
#include "base/random.h"
#include "inference/serving.h"

namespace {

using namespace photonrail;
using inference::Plan;

struct Shape {
  const char* model;
  const char* gpu;
  operators::Dtype dtype;
  inference::Parallel parallel;
};

constexpr operators::Dtype kFp8 = operators::Dtype::fp8;
constexpr operators::Dtype kBf16 = operators::Dtype::bf16;
const std::vector<Shape> kShapes = {
    {"llama-3-8b", "H100", kFp8, {}},
    {"llama-3-8b", "H100", kBf16, {}},
    {"llama-3-8b", "H200", kFp8, {.tensor = 2}},
    {"llama-3-70b", "H100", kFp8, {.tensor = 4}},
    {"llama-3-70b", "H100", kFp8, {.tensor = 8}},
    {"llama-3-70b", "H200", kBf16, {.tensor = 8}},
    {"llama-3-70b", "H200", kFp8, {.tensor = 2}},
    {"llama-3-70b", "B200", kFp8, {.tensor = 1}},
};

struct Point {
  std::size_t plan = 0;
  double batch = 0;
  double input = 0;
  double output = 0;
};

std::vector<Plan> plans() {
  const catalog::Catalog catalog = catalog::Catalog::builtin().value();
  std::vector<Plan> compiled;
  for (const Shape& shape : kShapes) {
    const auto kernels = operators::KernelModel::make(catalog.gpu(shape.gpu).value()).value();
    const inference::Precision precision{shape.dtype, shape.dtype, shape.dtype, kBf16, kBf16};
    compiled.push_back(
        Plan::compile(catalog.model(shape.model).value(), kernels, precision, shape.parallel, {}).value());
  }
  return compiled;
}

constexpr std::uint64_t kBatches = 256;   // 1 .. 256
constexpr std::uint64_t kInputs = 8160;   // 32 .. 8191
constexpr std::uint64_t kOutputs = 2046;  // 2 .. 2047

// All (plan, batch, input) in an order without a pattern, each once: multiples of a prime modulo their number.
std::vector<Point> points(std::size_t n) {
  constexpr std::uint64_t kPrime = 7'368'787;
  const std::uint64_t all = kShapes.size() * kBatches * kInputs;
  RandomStream stream(1, "bench.evaluations");
  std::vector<Point> list(std::min<std::size_t>(n, all));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::uint64_t at = (i + 1) * kPrime % all;
    list[i].plan = at % kShapes.size();
    list[i].batch = static_cast<double>(1 + at / kShapes.size() % kBatches);
    list[i].input = static_cast<double>(32 + at / kShapes.size() / kBatches);
    list[i].output = static_cast<double>(2 + stream.below(kOutputs));
  }
  return list;
}

template <class Evaluate>
double rate(const char* name, double promised, const std::vector<Point>& list, const Evaluate& evaluate) {
  double checksum = 0;
  for (std::size_t i = 0; i < list.size() / 10; ++i) checksum += evaluate(list[i]);  // warm the caches of the CPU
  const std::uint64_t before = allocations();
  const auto start = std::chrono::steady_clock::now();
  for (const Point& point : list) checksum += evaluate(point);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double each = static_cast<double>(list.size()) / seconds.count();
  const std::uint64_t allocated = allocations() - before;
  std::printf("%-28s %12.0f /s   promised %9.0f   %s   (%llu allocations, checksum %.6e)\n", name, each, promised,
              each >= promised && allocated == 0 ? "ok" : "MISSED", static_cast<unsigned long long>(allocated),
              checksum);
  return allocated == 0 ? each : 0;
}

int list_points(const std::vector<Point>& list) {
  std::printf("model,gpu,dtype,tensor,batch,input,output\n");
  for (const Point& point : list) {
    const Shape& shape = kShapes[point.plan];
    std::printf("%s,%s,%s,%lld,%.0f,%.0f,%.0f\n", shape.model, shape.gpu, operators::name_of(shape.dtype),
                static_cast<long long>(shape.parallel.tensor), point.batch, point.input, point.output);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t n = 1'000'000;
  bool csv = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--csv") == 0) csv = true;
    if (std::strcmp(argv[i], "--points") == 0 && i + 1 < argc) n = std::strtoul(argv[++i], nullptr, 10);
  }
  const std::vector<Point> list = points(n);
  if (csv) return list_points(list);
  const std::vector<Plan> compiled = plans();
  const double steps = rate("decode steps", 1e6, list, [&](const Point& point) {
    return compiled[point.plan].decode(point.batch, point.input).seconds;
  });
  const double requests = rate("prefill + decode integral", 2e5, list, [&](const Point& point) {
    return inference::static_batch(compiled[point.plan], point.batch, {point.input, point.output}).latency;
  });
  return steps >= 1e6 && requests >= 2e5 ? 0 : 1;
}

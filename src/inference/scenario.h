// InferenceScenario: the input file of `photonrail infer`, and what its names mean in the catalog.
//
// Plain data; every field is described once (scenario_describe.cc), from which reader, writer and reference page come.
// resolve() and evaluation (metrics.h) are pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "catalog/catalog.h"
#include "config/document.h"
#include "config/value.h"
#include "energy/power.h"
#include "inference/plan.h"
#include "inference/serving.h"
#include "pool/reader_rate.h"

namespace photonrail::operators {
std::span<const config::EnumName<Dtype>> names_of(Dtype);
}

namespace photonrail::inference {

// [model]
struct ModelChoice {
  std::string catalog;
  Dtype weights = Dtype::bf16;
  std::optional<Dtype> experts;  // absent: as weights
  Dtype kv = Dtype::bf16;
  Dtype attention = Dtype::bf16;
  Dtype head = Dtype::bf16;
};

// [gpu]
struct GpuChoice {
  std::string catalog;
  std::optional<std::int64_t> domain;  // absent: the catalog's
};

// [memory]: another memory than the GPU's own: the rate that a photonic pool gives (pooled_memory.h), or a stated one,
// which is taken as it is given and printed with every result.
struct MemoryChoice {
  std::optional<Rate> rate;             // of one GPU
  std::optional<Bytes> capacity;        // of one GPU
  std::string source;                   // why that rate
  bool as_published = false;            // a published figure that may break a limit of its own system
  std::string pool;                     // file of `photonrail check` that declares a pool; "": none
  std::optional<std::int64_t> sharers;  // accelerators that read at once; absent: the GPUs of the instance
  std::optional<double> hit_rate;       // absent: what the HBM tier holds of weights and caches
};

// [parallel], and [prefill] for the prefill workers of disaggregated serving
struct ParallelChoice {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t expert = 1;
  std::int64_t attention_data = 1;
};

// [engine]: a preset, and what is different from it
struct EngineChoice {
  std::string name = "trtllm";
  std::optional<std::int64_t> prefill_budget;
  std::optional<bool> chunked_prefill;
  std::optional<bool> separate_prefill;
  std::optional<std::int64_t> largest_batch;
  std::optional<Time> step_overhead;
  std::optional<Time> sequence_overhead;
  std::optional<Time> kernel_gap;
  std::optional<double> rank_spread;
  std::optional<Time> request_overhead;
  std::optional<double> memory_fraction;
  std::optional<Bytes> workspace;
  std::optional<std::int64_t> block_tokens;
};

enum class Mode : std::uint8_t { static_batch, continuous, disaggregated };
std::span<const config::EnumName<Mode>> names_of(Mode);

// [serving]
struct ServingChoice {
  Mode mode = Mode::static_batch;
  std::int64_t batch = 0;        // static: requests started together
  std::int64_t concurrency = 0;  // else: requests in flight
  std::int64_t input = 0;
  std::int64_t output = 0;
};

// [disaggregated]
struct DisaggregatedChoice {
  std::int64_t prefill_workers = 1;
  std::int64_t decode_workers = 1;
  std::optional<std::int64_t> decode_batch;  // absent: concurrency / decode_workers
  std::optional<Rate> transfer_rate;         // absent: the GPU's network rate
};

// [cost]
struct CostChoice {
  std::optional<Dollars> gpu_price;  // with the GPU's share of server and network; absent: nothing per dollar
  double years = 4;
  Dollars electricity{0.10};  // per kWh
};

enum class Objective : std::uint8_t { throughput_per_gpu, throughput, ttft, tpot, energy_per_token };
std::span<const config::EnumName<Objective>> names_of(Objective);

// [search]: every combination is tried. Empty lists: see scenario_describe.cc.
struct SearchSpace {
  std::int64_t gpus = 0;  // at most, of one instance; 0: one scale-up domain
  std::vector<std::int64_t> tensor;
  std::vector<std::int64_t> pipeline;
  std::vector<std::int64_t> expert;
  std::vector<std::int64_t> attention_data;
  std::vector<std::int64_t> batches;
  std::vector<Mode> modes;
  std::optional<Time> ttft_limit;
  std::optional<Time> tpot_limit;
  Objective objective = Objective::throughput_per_gpu;
};

struct InferenceScenario {
  std::string name = "inference";
  ModelChoice model;
  GpuChoice gpu;
  MemoryChoice memory;
  ParallelChoice parallel;
  ParallelChoice prefill;
  EngineChoice engine;
  ServingChoice serving;
  DisaggregatedChoice disaggregated;
  CostChoice cost;
  SearchSpace search;
};

void describe(config::Fields& fields, ModelChoice& model);
void describe(config::Fields& fields, GpuChoice& gpu);
void describe(config::Fields& fields, MemoryChoice& memory);
void describe(config::Fields& fields, ParallelChoice& parallel);
void describe(config::Fields& fields, EngineChoice& engine);
void describe(config::Fields& fields, ServingChoice& serving);
void describe(config::Fields& fields, DisaggregatedChoice& disaggregated);
void describe(config::Fields& fields, CostChoice& cost);
void describe(config::Fields& fields, SearchSpace& search);
void describe(config::Fields& fields, InferenceScenario& scenario);

using InferenceDocument = config::Document<InferenceScenario>;

// Reads and checks. Errors: io; invalid_input with file:line:column.
Result<InferenceDocument> load_inference(const std::string& file, std::span<const std::string> sets);
Result<InferenceDocument> parse_inference(std::string_view text, std::string_view name,
                                          std::span<const std::string> sets = {});

// The pool that [memory] names. What a configuration gets from it: pooled_memory.h.
struct Pool {
  std::string name;
  pool::Resolved resolved;
  std::int64_t sharers = 1;
  double weights = 0;  // bytes of the whole model, stored once for all sharers
};

// A scenario with its names looked up. What a Plan is compiled from, and what results are accounted with.
struct Deployment {
  InferenceScenario scenario;
  catalog::Model model;
  catalog::Gpu gpu;  // with [memory] laid over it
  operators::KernelModel kernels;
  Precision precision;
  Engine engine;
  RequestShape request;
  std::int64_t domain = 8;
  std::optional<energy::GpuPower> power;  // absent: the catalog does not know the GPU's power
  energy::Node node;
  double transfer_rate = 0;            // bytes/s
  catalog::Gpu listed;                 // as the catalog has it
  std::optional<Pool> pool;            // its rate, in kernels and scenario.memory, is that of one configuration
  std::vector<std::string> overrides;  // what [memory] replaced, for every result
};

// A pool gives what the configuration of the scenario itself gets from it. Errors: invalid_input where a name is
// unknown or the GPU lacks a figure; those of the pool's file; infeasible where the pool has no room for the sharers.
Result<Deployment> resolve(const InferenceScenario& scenario, const catalog::Catalog& catalog);

Parallel parallel_of(const ParallelChoice& choice, std::int64_t domain);
Result<Plan> compile(const Deployment& setup, const Parallel& parallel);

// Lays scenario.memory over the listed GPU: memory, kernels and overrides.
Status use_memory(Deployment& setup);

}  // namespace photonrail::inference

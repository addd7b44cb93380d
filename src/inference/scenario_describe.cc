#include "inference/scenario.h"

namespace photonrail::operators {

std::span<const config::EnumName<Dtype>> names_of(Dtype) {
  static constexpr config::EnumName<Dtype> kNames[] = {
      {Dtype::fp32, "fp32", "4 bytes"},
      {Dtype::bf16, "bf16", "2 bytes"},
      {Dtype::fp8, "fp8", "1 byte, one scale per tensor"},
      {Dtype::fp8_block, "fp8_block", "1 byte, one scale per 128 x 128 weights"},
      {Dtype::nvfp4, "nvfp4", "4 bits, an 8-bit scale per 16 values"},
      {Dtype::int8, "int8", "1 byte"},
      {Dtype::int4, "int4", "weights of 4 bits, computed in bf16"}};
  return kNames;
}

}  // namespace photonrail::operators

namespace photonrail::inference {
namespace {

using config::EnumName;
using config::Fields;

// Guards against slips of the keyboard, far above any machine that exists.
constexpr double kDegreeMax = 1024;
constexpr double kBatchMax = 1 << 20;
constexpr double kTokensMax = 1 << 24;
constexpr double kWorkersMax = 4096;
constexpr double kRateMax = 1e17;  // bit/s

constexpr std::string_view kEngines[] = {"trtllm", "vllm", "sglang", "trtllm-0.7", "trtllm-0.6", "trtllm-0.5"};

}  // namespace

std::span<const EnumName<Mode>> names_of(Mode) {
  static constexpr EnumName<Mode> kNames[] = {
      {Mode::static_batch, "static", "one batch from its first prompt to its last token"},
      {Mode::continuous, "continuous", "a closed loop of requests, chunked prefill beside decoding"},
      {Mode::disaggregated, "disaggregated", "prefill and decode on workers of their own"}};
  return kNames;
}

std::span<const EnumName<Objective>> names_of(Objective) {
  static constexpr EnumName<Objective> kNames[] = {
      {Objective::throughput_per_gpu, "throughput_per_gpu", "most output tokens per second and GPU"},
      {Objective::throughput, "throughput", "most output tokens per second of one instance"},
      {Objective::ttft, "ttft", "least time to the first token"},
      {Objective::tpot, "tpot", "least time per output token"},
      {Objective::energy_per_token, "energy_per_token", "least energy per output token"}};
  return kNames;
}

void describe(Fields& f, ModelChoice& m) {
  f("catalog", m.catalog, {.doc = "Name of a model of the catalog (`photonrail catalog`).", .required = true});
  f("weights", m.weights, {.doc = "Format of projections and dense feed-forward blocks, and of their products."});
  f("experts", m.experts, {.doc = "Format of routed experts.", .absent = "as weights"});
  f("kv", m.kv, {.doc = "Format of the cache of keys and values."});
  f("attention", m.attention, {.doc = "Format of the products inside attention."});
  f("head", m.head, {.doc = "Format of embedding, router and output head."});
}

void describe(Fields& f, GpuChoice& g) {
  f("catalog", g.catalog, {.doc = "Name of a GPU of the catalog.", .required = true});
  f("domain", g.domain,
    {.doc = "GPUs of one scale-up domain (a box).", .min = 1, .max = 1 << 16, .absent = "the catalog's"});
}

void describe(Fields& f, MemoryChoice& m) {
  f("rate", m.rate,
    {.doc = "Memory bandwidth of one GPU in place of its own: a pool, or a question of the kind what if.",
     .max = kRateMax,
     .above = 0,
     .absent = "the GPU's own"});
  f("capacity", m.capacity, {.doc = "Memory of one GPU in place of its own.", .above = 0, .absent = "the GPU's own"});
  f("source", m.source, {.doc = "Where the two figures come from; printed with the result."});
  f("as_published", m.as_published,
    {.doc = "The figures are published ones that may break a limit of their own system; printed with the result."});
  f("pool", m.pool,
    {.doc = "File that declares a photonic pool (`photonrail check`), relative to this one; gives rate and capacity."});
  f("sharers", m.sharers,
    {.doc = "Accelerators that read from the pool at once.",
     .min = 1,
     .max = 4096,
     .absent = "the GPUs of the instance"});
  f("hit_rate", m.hit_rate,
    {.doc = "Share of the bytes found in the pool's HBM tier, the rest comes from DDR.",
     .min = 0,
     .max = 1,
     .absent = "the part of weights (once) and caches (of all sharers) that the HBM tiers hold"});
}

void describe(Fields& f, ParallelChoice& p) {
  f("tensor", p.tensor, {.doc = "Ranks that split every matrix.", .min = 1, .max = kDegreeMax});
  f("pipeline", p.pipeline, {.doc = "Stages that split the layers.", .min = 1, .max = kDegreeMax});
  f("expert", p.expert,
    {.doc = "Ranks that experts are spread over, of the tensor x attention_data ranks of a stage.",
     .min = 1,
     .max = kDegreeMax});
  f("attention_data", p.attention_data,
    {.doc = "Copies of the attention block, each with its share of the batch.", .min = 1, .max = kDegreeMax});
}

void describe(Fields& f, EngineChoice& e) {
  f("name", e.name, {.doc = "Preset (src/inference/engine.cc); keys beside it override it.", .choices = kEngines});
  f("prefill_budget", e.prefill_budget,
    {.doc = "Most tokens of one pass.", .min = 1, .max = kTokensMax, .absent = "the preset's"});
  f("chunked_prefill", e.chunked_prefill, {.doc = "A prompt may be split over passes.", .absent = "the preset's"});
  f("separate_prefill", e.separate_prefill,
    {.doc = "Prefills run in passes of their own while decoding waits.", .absent = "the preset's"});
  f("largest_batch", e.largest_batch,
    {.doc = "Most sequences of one attention copy.", .min = 1, .max = kBatchMax, .absent = "the preset's"});
  f("step_overhead", e.step_overhead, {.doc = "Host work of a pass that no kernel hides.", .absent = "the preset's"});
  f("sequence_overhead", e.sequence_overhead,
    {.doc = "The same for each sequence of an attention copy.", .absent = "the preset's"});
  f("rank_spread", e.rank_spread,
    {.doc = "Deviation of kernel times from GPU to GPU; collectives wait for the slowest.",
     .min = 0,
     .max = 1,
     .absent = "the preset's"});
  f("kernel_gap", e.kernel_gap, {.doc = "Time between two kernels of a captured graph.", .absent = "the preset's"});
  f("request_overhead", e.request_overhead, {.doc = "Work on a request outside the passes.", .absent = "the preset's"});
  f("memory_fraction", e.memory_fraction,
    {.doc = "Share of the free memory that the cache may take.", .max = 1, .above = 0, .absent = "the preset's"});
  f("workspace", e.workspace,
    {.doc = "Memory of context, graphs and communication buffers.", .absent = "the preset's"});
  f("block_tokens", e.block_tokens,
    {.doc = "Tokens of one page of the cache.", .min = 1, .max = 1 << 16, .absent = "the preset's"});
}

void describe(Fields& f, ServingChoice& s) {
  f("mode", s.mode, {.doc = "How requests are batched."});
  f("batch", s.batch, {.doc = "static: requests that start together.", .min = 0, .max = kBatchMax});
  f("concurrency", s.concurrency,
    {.doc = "continuous, disaggregated: requests in flight, a new one for each that ends.",
     .min = 0,
     .max = kBatchMax});
  f("input", s.input, {.doc = "Tokens of a prompt.", .min = 1, .max = kTokensMax, .required = true});
  f("output", s.output, {.doc = "Tokens of an answer.", .min = 1, .max = kTokensMax, .required = true});
}

void describe(Fields& f, DisaggregatedChoice& d) {
  f("prefill_workers", d.prefill_workers,
    {.doc = "Instances with the degrees of [prefill].", .min = 1, .max = kWorkersMax});
  f("decode_workers", d.decode_workers,
    {.doc = "Instances with the degrees of [parallel].", .min = 1, .max = kWorkersMax});
  f("decode_batch", d.decode_batch,
    {.doc = "Most requests of one decode worker.",
     .min = 1,
     .max = kBatchMax,
     .absent = "concurrency / decode_workers, rounded up"});
  f("transfer_rate", d.transfer_rate,
    {.doc = "Rate at which one GPU hands over its part of the cache.",
     .max = kRateMax,
     .above = 0,
     .absent = "the GPU's network rate"});
}

void describe(Fields& f, CostChoice& c) {
  f("gpu_price", c.gpu_price,
    {.doc = "Price of one GPU with its share of server and network. The catalog has none: no maker publishes them.",
     .above = 0,
     .absent = "nothing is given per dollar"});
  f("years", c.years, {.doc = "Years that purchases are spread over.", .max = 100, .above = 0});
  f("electricity", c.electricity, {.doc = "Price of a kWh."});
}

void describe(Fields& f, SearchSpace& s) {
  f("gpus", s.gpus, {.doc = "Most GPUs of one instance. 0: one scale-up domain, 16 at most.", .min = 0, .max = 4096});
  f("tensor", s.tensor,
    {.doc = "Tensor degrees. Empty: powers of two up to gpus.", .min = 1, .max = kDegreeMax, .items_max = 64});
  f("pipeline", s.pipeline,
    {.doc = "Pipeline degrees. Empty: 1, 2, 4 and 8 up to gpus.", .min = 1, .max = kDegreeMax, .items_max = 64});
  f("expert", s.expert,
    {.doc = "Expert degrees. Empty: 1 and, for models with experts, all ranks of a stage.",
     .min = 1,
     .max = kDegreeMax,
     .items_max = 64});
  f("attention_data", s.attention_data,
    {.doc = "Copies of attention. Empty: 1 and, for models with experts, powers of two up to gpus.",
     .min = 1,
     .max = kDegreeMax,
     .items_max = 64});
  f("batches", s.batches,
    {.doc = "Batches or requests in flight. Empty: powers of two up to 1024, the largest that fits, and refined around "
            "the best.",
     .min = 1,
     .max = kBatchMax,
     .items_max = 4096});
  f("modes", s.modes,
    {.doc = "Ways of batching. Empty: static and continuous; disaggregated is tried when it is listed.",
     .items_max = 8});
  f("ttft_limit", s.ttft_limit, {.doc = "Longest time to the first token.", .above = 0, .absent = "none"});
  f("tpot_limit", s.tpot_limit, {.doc = "Longest time per output token.", .above = 0, .absent = "none"});
  f("objective", s.objective, {.doc = "What the best configuration is best at."});
}

void describe(Fields& f, InferenceScenario& s) {
  f("name", s.name, {.doc = "Name of the scenario, for reports."});
  f("model", s.model, {.doc = "The model and the formats of its tensors."});
  f("gpu", s.gpu, {.doc = "The GPU."});
  f("memory", s.memory, {.doc = "Another memory than the GPU's own."});
  f("parallel", s.parallel, {.doc = "How one instance is spread over GPUs; of decode workers when disaggregated."});
  f("prefill", s.prefill, {.doc = "How one prefill worker is spread over GPUs; disaggregated only."});
  f("engine", s.engine, {.doc = "The serving engine."});
  f("serving", s.serving, {.doc = "The requests."});
  f("disaggregated", s.disaggregated, {.doc = "Workers of disaggregated serving."});
  f("cost", s.cost, {.doc = "Prices."});
  f("search", s.search, {.doc = "What `photonrail infer --search` tries."});
}

}  // namespace photonrail::inference

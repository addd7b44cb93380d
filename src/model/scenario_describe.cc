#include "model/scenario_describe.h"

namespace photonrail::model {
namespace {

using config::EnumName;
using config::Fields;

// Guards against slips of the keyboard, far above any machine that exists.
constexpr double kGpusMax = 1 << 20;
constexpr double kHour = 3600;
constexpr double kRateMax = 1e15;  // bit/s of one port; links that carry those of many stay below 1e18

}  // namespace

std::span<const EnumName<Distribution::Shape>> names_of(Distribution::Shape) {
  using Shape = Distribution::Shape;
  static constexpr EnumName<Shape> kNames[] = {
      {Shape::constant, "constant", "always `typical`"},
      {Shape::uniform, "uniform", "between `typical` and `high`"},
      {Shape::normal, "normal", "mean `typical`, deviation `spread` times the mean"},
      {Shape::lognormal, "lognormal", "median `typical`, sigma `spread`"}};
  return kNames;
}

std::span<const EnumName<Schedule>> names_of(Schedule) {
  static constexpr EnumName<Schedule> kNames[] = {
      {Schedule::gpipe, "gpipe", "all forward passes, then all backward passes"},
      {Schedule::one_f_one_b, "1f1b", "one forward, one backward in turn after the warm-up"}};
  return kNames;
}

std::span<const EnumName<Sharding>> names_of(Sharding) {
  static constexpr EnumName<Sharding> kNames[] = {{Sharding::zero0, "zero0", "plain data parallelism"},
                                                  {Sharding::zero1, "zero1", "optimiser state sharded"},
                                                  {Sharding::zero2, "zero2", "and gradients"},
                                                  {Sharding::zero3, "zero3", "and weights: FSDP"}};
  return kNames;
}

std::span<const EnumName<Recompute>> names_of(Recompute) {
  static constexpr EnumName<Recompute> kNames[] = {{Recompute::none, "none", "activations are kept"},
                                                   {Recompute::selective, "selective", "attention core computed again"},
                                                   {Recompute::full, "full", "whole layers computed again"}};
  return kNames;
}

std::span<const EnumName<Precision>> names_of(Precision) {
  static constexpr EnumName<Precision> kNames[] = {
      {Precision::fp32, "fp32", "4 bytes"}, {Precision::bf16, "bf16", "2 bytes"}, {Precision::fp8, "fp8", "1 byte"}};
  return kNames;
}

std::span<const EnumName<Policy>> names_of(Policy) {
  static constexpr EnumName<Policy> kNames[] = {
      {Policy::static_proportional, "static_proportional", "ports split once, in proportion to traffic"},
      {Policy::static_sqrt, "static_sqrt", "ports split once, in proportion to the root of traffic"},
      {Policy::on_demand, "on_demand", "circuits follow announced operations"},
      {Policy::provisioned, "provisioned", "circuits switched ahead, from a learnt phase table"},
      {Policy::oracle, "oracle", "as provisioned, with no request, controller or command time"}};
  return kNames;
}

std::span<const EnumName<Admission>> names_of(Admission) {
  static constexpr EnumName<Admission> kNames[] = {
      {Admission::gang, "gang", "all members at once, when all have announced"},
      {Admission::naive_lock, "naive_lock",
       "each rank locks its ports; deadlocks where phases overlap, kept to show that"}};
  return kNames;
}

std::span<const EnumName<Dimension>> names_of(Dimension) {
  static constexpr EnumName<Dimension> kNames[] = {
      {Dimension::tensor, "tensor", "tensor parallelism"},
      {Dimension::data, "data", "data parallelism, sharded or not"},
      {Dimension::pipeline, "pipeline", "pipeline stages"}, {Dimension::context, "context", "context parallelism"},
      {Dimension::expert, "expert", "expert parallelism"}, {Dimension::other, "other", "none of these"}};
  return kNames;
}

std::span<const EnumName<Fabric>> names_of(Fabric) {
  static constexpr EnumName<Fabric> kNames[] = {
      {Fabric::rail_optimised, "rail_optimised", "leaves per rail, joined by spines"},
      {Fabric::fat_tree, "fat_tree", "Clos over servers"},
      {Fabric::rail_only, "rail_only", "rails that are not joined"}};
  return kNames;
}

std::span<const EnumName<LoadBalance>> names_of(LoadBalance) {
  static constexpr EnumName<LoadBalance> kNames[] = {{LoadBalance::ideal, "ideal", "uplinks shared evenly"},
                                                     {LoadBalance::ecmp, "ecmp", "one hashed path per flow"}};
  return kNames;
}

std::span<const EnumName<CostMode>> names_of(CostMode) {
  static constexpr EnumName<CostMode> kNames[] = {
      {CostMode::as_published, "as_published", "the formulas of the Opus paper"},
      {CostMode::real, "real", "real radices, duplex optics, spares"}};
  return kNames;
}

void describe(Fields& f, Distribution& d) {
  f.shorthand("typical", d.typical, {.max = kHour});
  f("shape", d.shape, {.doc = "How single values scatter."});
  f("typical", d.typical, {.doc = "The value, low end, mean or median, by shape.", .max = kHour, .required = true});
  f("high", d.high, {.doc = "High end; uniform only.", .max = kHour});
  f("spread", d.spread,
    {.doc = "Deviation over mean (normal) or sigma of the logarithm (lognormal).", .min = 0, .max = 10});
  f("source", d.source, {.doc = "Where the figure comes from."});
}

void describe(Fields& f, TransformerModel& m) {
  f("catalog", m.catalog,
    {.doc = "Name of a catalog model (`photonrail catalog`); keys given beside it override its figures."});
  f("layers", m.layers, {.doc = "Decoder layers. 0: from the catalog.", .min = 0, .max = 10000});
  f("hidden", m.hidden, {.doc = "Width of the residual stream. 0: from the catalog.", .min = 0, .max = 1 << 20});
  f("feed_forward", m.feed_forward, {.doc = "Inner width of the MLP. 0: from the catalog.", .min = 0, .max = 1 << 22});
  f("feed_forward_matrices", m.feed_forward_matrices,
    {.doc = "Matrices of the MLP: 3 when gated (SwiGLU), 2 when plain. 0: from the catalog, else 3.",
     .min = 0,
     .max = 3});
  f("heads", m.heads, {.doc = "Attention (query) heads. 0: from the catalog.", .min = 0, .max = 1 << 16});
  f("kv_heads", m.kv_heads,
    {.doc = "Key and value heads. 0: from the catalog, else as many as heads.", .min = 0, .max = 1 << 16});
  f("head_size", m.head_size,
    {.doc = "Width of one head. 0: from the catalog, else hidden / heads.", .min = 0, .max = 1 << 16});
  f("vocabulary", m.vocabulary, {.doc = "Tokens in the vocabulary. 0: from the catalog.", .min = 0, .max = 1 << 24});
  f("tied_embeddings", m.tied_embeddings,
    {.doc = "Input and output embedding share their weights; also where the catalog says so."});
}

void describe(Fields& f, Training& t) {
  f("sequence", t.sequence, {.doc = "Tokens in a sequence.", .min = 1, .max = 1 << 27});
  f("global_batch", t.global_batch,
    {.doc = "Sequences per step, all data-parallel ranks together; needed unless a trace is imported.",
     .min = 0,
     .max = 1 << 30});
  f("microbatches", t.microbatches, {.doc = "Microbatches per pipeline and step.", .min = 1, .max = 1 << 16});
  f("schedule", t.schedule, {.doc = "Order of microbatches in a pipeline."});
  f("sharding", t.sharding, {.doc = "What data-parallel ranks share out among them."});
  f("reshard_after_forward", t.reshard_after_forward,
    {.doc = "With zero3: weights are gathered again for the backward pass of every microbatch."});
  f("recompute", t.recompute, {.doc = "Activations computed again in the backward pass."});
  f("precision", t.precision, {.doc = "Of weights and activations."});
  f("gradient_precision", t.gradient_precision, {.doc = "Of gradients on the wire."});
  f("sequence_parallel", t.sequence_parallel,
    {.doc = "Tensor parallelism splits norms and residuals along the sequence."});
  f("overlap_gradients", t.overlap_gradients,
    {.doc = "Data-parallel reductions start within the backward pass of the last microbatch."});
  f("post_receives_early", t.post_receives_early, {.doc = "Pipeline receives are posted one schedule step ahead."});
}

void describe(Fields& f, Parallelism& p) {
  f("data", p.data, {.doc = "Data-parallel degree.", .min = 1, .max = kGpusMax});
  f("pipeline", p.pipeline, {.doc = "Pipeline stages.", .min = 1, .max = 4096});
  f("tensor", p.tensor, {.doc = "Tensor-parallel degree.", .min = 1, .max = 4096});
}

void describe(Fields& f, Cluster& c) {
  f("gpus", c.gpus, {.doc = "GPUs in the job; needed unless a trace is imported.", .min = 0, .max = kGpusMax});
  f("gpu", c.gpu, {.doc = "Catalog name of the GPU."});
  f("domain", c.domain,
    {.doc = "GPUs in one scale-up domain; the local index in it is the rail.", .min = 1, .max = 1 << 16});
  f("matmul_efficiency", c.matmul_efficiency,
    {.doc = "Share of peak FLOP/s that matrix products reach.", .max = 1, .above = 0});
  f("memory_efficiency", c.memory_efficiency,
    {.doc = "Share of peak memory bandwidth that is reached.", .max = 1, .above = 0});
}

void describe(Fields& f, ScaleUp& s) {
  f("rate", s.rate, {.doc = "Per GPU and direction.", .max = kRateMax, .above = 0});
  f("latency", s.latency, {.doc = "One step between two GPUs of a domain.", .max = 1});
}

void describe(Fields& f, Rail& r) {
  f("ports", r.ports,
    {.doc = "Duplex optical ports per GPU; a ring of more than two members needs two.", .min = 1, .max = 64});
  f("port_rate", r.port_rate, {.doc = "Per port and direction.", .max = kRateMax, .above = 0});
  f("latency", r.latency, {.doc = "One step between neighbours: NIC to NIC, fibre included.", .max = 1});
}

void describe(Fields& f, Switching& s) {
  f("ocs", s.ocs, {.doc = "Catalog name of the optical circuit switch."});
  f("times", s.times,
    {.doc = "Switching times to sweep; each replaces dark + settle + link_up + relock.",
     .max = kHour,
     .items_max = 256});
  f("request", s.request, {.doc = "Message from shim to controller and back."});
  f("controller", s.controller, {.doc = "Decision of the controller."});
  f("command", s.command, {.doc = "Until the device has accepted the command."});
  f("dark", s.dark, {.doc = "From light lost to light back.", .absent = "as of the OCS in the catalog"});
  f("settle", s.settle, {.doc = "From light back to power within limits.", .absent = "as of the OCS in the catalog"});
  f("link_up", s.link_up, {.doc = "Until the NIC reports the link up."});
  f("relock", s.relock, {.doc = "Clock recovery and equaliser, where link_up does not hold it already."});
}

void describe(Fields& f, Control& c) {
  f("policies", c.policies, {.doc = "Photonic policies to run.", .items_max = 16});
  f("admission", c.admission, {.doc = "Which operations may start."});
}

void describe(Fields& f, Electrical& e) {
  f("fabrics", e.fabrics, {.doc = "Electrical fabrics to run.", .items_max = 16});
  f("network_switch", e.network_switch, {.doc = "Catalog name of the packet switch; its radix shapes the fabric."});
  f("oversubscription", e.oversubscription,
    {.doc = "Down to up capacity at the leaves: 2.0 is 2:1.", .min = 1, .max = 64});
  f("load_balance", e.load_balance, {.doc = "How flows share parallel links."});
  f("nic_rate", e.nic_rate, {.doc = "Per GPU and direction.", .max = kRateMax, .above = 0});
  f("hop_latency", e.hop_latency, {.doc = "Per switch crossed, on top of rail.latency.", .max = 1});
}

void describe(Fields& f, CostOptions& c) {
  f("mode", c.mode, {.doc = "How parts are counted."});
  f("transceiver", c.transceiver, {.doc = "Catalog name; empty: by port rate."});
  f("duplex_ports_per_gpu", c.duplex_ports_per_gpu,
    {.doc = "Ports that are paid for. 0: rail.ports.", .min = 0, .max = 64});
  f("include_nics", c.include_nics, {.doc = "Count NICs."});
  f("include_fibre", c.include_fibre, {.doc = "Count fibre jumpers."});
  f("spare_ports", c.spare_ports, {.doc = "Share of OCS ports kept as spares.", .min = 0, .max = 1});
  f("fibre_price", c.fibre_price, {.doc = "Per duplex jumper."});
  f("gpu_power", c.gpu_power, {.doc = "Per GPU, for energy per step. 0 W: TDP of the catalog.", .max = 1e5});
}

void describe(Fields& f, Workload& w) {
  f("trace", w.trace,
    {.doc = "Directory or archive of execution traces, relative to this file; empty: generate a step from [model], "
            "[training], [parallelism]."});
  f("group_file", w.group_file,
    {.doc = "Communicator groups of the trace, relative to this file; empty: the file beside the traces."});
  f("bytes_per_unit", w.bytes_per_unit,
    {.doc = "Bytes in one unit of comm_size and tensor_size: 2 where the trace counts bf16 elements.",
     .max = 64,
     .above = 0});
  f("multiply_accumulates", w.multiply_accumulates,
    {.doc = "num_ops counts multiply-accumulates, two operations each, as the STAGE generator does."});
  f("dimensions", w.dimensions,
    {.doc = "Dimension of a communicator group, by its id: dimensions.5 = \"data\", where what the importer infers (a "
            "note of the report) is wrong."});
}

void describe(Fields& f, Scenario& s) {
  f("name", s.name, {.doc = "Name in reports."});
  f("seed", s.seed, {.doc = "Of every random stream."});
  f("baseline", s.baseline,
    {.doc = "Policy or fabric that overheads are measured against; it must be among those run."});
  f("profile_iterations", s.profile_iterations,
    {.doc = "Iterations from which `provisioned` learns before the measured one.", .min = 0, .max = 100});
  f("workload", s.workload, {.doc = "Where the training step comes from."});
  f("model", s.model, {.doc = "The transformer that is trained."});
  f("training", s.training, {.doc = "The training step."});
  f("parallelism", s.parallelism, {.doc = "How the step is spread: data x pipeline x tensor = cluster.gpus."});
  f("cluster", s.cluster, {.doc = "The GPUs."});
  f("scale_up", s.scale_up, {.doc = "The network inside a scale-up domain, non-blocking."});
  f("rail", s.rail, {.doc = "The optical ports that join GPUs of one local index across domains."});
  f("switching", s.switching,
    {.doc = "The time of one switch, term by term; the wait of a gang is simulated and not set here."});
  f("control", s.control, {.doc = "Control of the photonic rails."});
  f("electrical", s.electrical, {.doc = "Electrical fabrics for comparison."});
  f("cost", s.cost, {.doc = "Bill of materials and power."});
}

}  // namespace photonrail::model

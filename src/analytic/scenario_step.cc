#include "analytic/scenario_step.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fabric/electrical.h"
#include "fabric/photonic.h"
#include "operators/transformer.h"
#include "study/names.h"
#include "study/photonic_case.h"
#include "workload/training.h"

namespace photonrail::analytic {
namespace {

using model::Collective;
using model::Dimension;
using model::Rank;
using operators::TransformerShape;
using operators::Work;

double real(std::int64_t n) { return static_cast<double>(n); }

// As the simulator rounds a task.
double rounded(const Work& work) { return to_seconds(time_from_seconds(work.seconds)); }

// Communication with nothing else on the fabric, to the picosecond as the simulator rounds it.
class Wire {
 public:
  Wire(const study::Study& study, const fabric::Fabric& fabric) : study_(study), fabric_(fabric) {}

  // Collective of the group of this dimension that the rank is in; 0 for a group of one.
  Result<double> collective(Collective kind, Dimension dimension, Rank rank, std::int64_t bytes) const {
    const model::Group* group = group_of(dimension, rank);
    if (group == nullptr) return 0.0;
    PR_ASSIGN(const auto footprint, fabric_.footprint(kind, group->members, dimension));
    return alone(footprint, bytes);
  }

  Result<double> message(Rank source, Rank destination, std::int64_t bytes) const {
    PR_ASSIGN(const auto footprint, fabric_.footprint_p2p(source, destination, Dimension::pipeline));
    return alone(footprint, bytes);
  }

 private:
  const model::Group* group_of(Dimension dimension, Rank rank) const {
    for (const model::Group& group : study_.graph.groups) {
      if (group.dimension != dimension) continue;
      if (std::find(group.members.begin(), group.members.end(), rank) != group.members.end()) return &group;
    }
    return nullptr;
  }

  double alone(const fabric::Footprint& footprint, std::int64_t bytes) const {
    double rate = std::numeric_limits<double>::infinity();
    for (const auto& usage : footprint.usage) {
      rate = std::min(rate, fabric_.links()[usage.link].capacity / usage.share);
    }
    const double flow = real(bytes) * footprint.bytes_per_payload;
    const double latency = to_seconds(footprint.latency);
    return footprint.usage.empty() || flow == 0 ? latency : latency + flow * 8 / rate;
  }

  const study::Study& study_;
  const fabric::Fabric& fabric_;
};

// Seconds of the tasks of one stage.
struct Tasks {
  double attention_forward = 0, attention_backward = 0;
  double feed_forward_forward = 0, feed_forward_backward = 0;
  double embedding_forward = 0, embedding_backward = 0;
  double head_forward = 0, head_backward = 0;
  // Tensor group; without sequence parallelism `gather` is 0 and `sum` the all-reduce.
  double gather = 0, sum = 0, loss = 0;
};

class Builder {
 public:
  Builder(const study::Study& study, const fabric::Fabric& fabric)
      : job_(workload::make_training_job(study.scenario, study.rates)),
        shape_(workload::microbatch_shape(job_)),
        wire_(study, fabric) {}

  Result<StepPieces> build() {
    const std::int64_t stages = job_.parallelism.pipeline;
    StepPieces out;
    out.stages = stages;
    out.microbatches = job_.training.microbatches;
    out.round_trips = job_.training.schedule == model::Schedule::one_f_one_b;
    out.late_receives = !job_.training.post_receives_early;
    PR_TRY(add_messages(out));
    for (std::int64_t i = 1; i + 1 < stages; ++i) {
      if (workload::stage_layers(job_, i).count > workload::stage_layers(job_, stages - 2).count) out.longer = i;
    }
    PR_ASSIGN(out.first, stage(0, out));
    if (stages > 1) { PR_ASSIGN(out.last, stage(stages - 1, out)); }
    if (out.longer > 0) { PR_ASSIGN(out.middle, stage(1, out)); }
    if (stages > 2) { PR_ASSIGN(out.short_middle, stage(stages - 2, out)); }
    return out;
  }

 private:
  const model::Training& training() const { return job_.training; }
  bool sequence_parallel() const { return training().sequence_parallel && job_.parallelism.tensor > 1; }
  bool full() const { return training().recompute == model::Recompute::full; }
  Rank rank(std::int64_t stage) const {
    return static_cast<Rank>(stage * job_.parallelism.data * job_.parallelism.tensor);
  }

  // The quickest boundary between stages, so that the sum stays a bound where some cross a domain and some do not.
  Status add_messages(StepPieces& out) const {
    const std::int64_t bytes = shape_.tokens * shape_.hidden * shape_.element_bytes / shape_.sequence_shards;
    double forward = std::numeric_limits<double>::infinity();
    double backward = forward;
    for (std::int64_t i = 0; i + 1 < out.stages; ++i) {
      PR_ASSIGN(const double down, wire_.message(rank(i), rank(i + 1), bytes));
      PR_ASSIGN(const double up, wire_.message(rank(i + 1), rank(i), bytes));
      forward = std::min(forward, down);
      backward = std::min(backward, up);
    }
    if (out.stages == 1) return {};
    out.hop_forward = forward;
    out.hop_backward = backward;
    return {};
  }

  Result<Tasks> tasks(std::int64_t stage) const {
    const operators::GpuRates& gpu = job_.gpu;
    const bool core = training().recompute == model::Recompute::selective;
    Tasks t;
    t.attention_forward = rounded(operators::attention_forward(shape_, gpu));
    t.attention_backward = rounded(operators::attention_backward(shape_, gpu, core));
    t.feed_forward_forward = rounded(operators::feed_forward_forward(shape_, gpu));
    t.feed_forward_backward = rounded(operators::feed_forward_backward(shape_, gpu));
    t.embedding_forward = rounded(operators::embedding_forward(shape_, gpu));
    t.embedding_backward = rounded(operators::embedding_backward(shape_, gpu));
    t.head_forward = rounded(operators::head_forward(shape_, gpu));
    t.head_backward = rounded(operators::head_backward(shape_, gpu));
    const std::int64_t bytes = shape_.tokens * shape_.hidden * shape_.element_bytes;
    PR_ASSIGN(t.loss, wire_.collective(Collective::all_reduce, Dimension::tensor, rank(stage), shape_.tokens * 12));
    if (!sequence_parallel()) {
      PR_ASSIGN(t.sum, wire_.collective(Collective::all_reduce, Dimension::tensor, rank(stage), bytes));
      return t;
    }
    PR_ASSIGN(t.gather, wire_.collective(Collective::all_gather, Dimension::tensor, rank(stage), bytes));
    PR_ASSIGN(t.sum, wire_.collective(Collective::reduce_scatter, Dimension::tensor, rank(stage), bytes));
    return t;
  }

  static Pass pass(double compute, double tensor) { return {compute, tensor, 0, 0, 0, 0}; }

  // Forward pass of one layer: each block gathers, computes, sums.
  static Pass layer_forward(const Tasks& t) {
    return pass(t.attention_forward + t.feed_forward_forward, 2 * (t.gather + t.sum));
  }

  // What a saved input's gathering takes beyond the computation that it runs behind.
  static double beyond(double gather, double compute) { return std::max(0.0, gather - compute); }

  // Backward pass of one layer. `next`: the attention block's pass also gathers for the layer before it. `cold`: nobody
  // has gathered the feed-forward block's saved input.
  Pass layer_backward(const Tasks& t, bool next, bool cold) const {
    Pass out = pass(t.attention_backward + t.feed_forward_backward, 2 * (t.gather + t.sum));
    out.tensor += beyond(t.gather, t.feed_forward_backward);
    if (next && !full()) out.tensor += beyond(t.gather, t.attention_backward);
    if (cold) out.tensor += t.gather;
    if (!full()) return out;
    out += layer_forward(t);
    // All-reduced: nothing waits for the last sum of the recomputed layer but the next sum of the group.
    if (!sequence_parallel()) out.tensor -= std::min(t.sum, t.feed_forward_backward);
    return out;
  }

  Result<Stage> stage(std::int64_t index, const StepPieces& pieces) const {
    PR_ASSIGN(const Tasks t, tasks(index));
    const bool first = index == 0;
    const bool last = index + 1 == pieces.stages;
    const std::int64_t layers = workload::stage_layers(job_, index).count;
    Stage out;
    out.forward = real(layers) * layer_forward(t);
    if (first) out.forward += pass(t.embedding_forward, t.sum);
    if (last) out.forward += pass(t.head_forward, t.gather + t.loss);
    out.backward = backward(t, layers, first, last);
    set_overlaps(out, t, first, last, pieces);
    PR_TRY(finish(out, t, index, layers, first, last));
    return out;
  }

  Pass backward(const Tasks& t, std::int64_t layers, bool first, bool last) const {
    Pass out;
    for (std::int64_t k : {layers - 1, std::int64_t{0}}) {
      const bool hot = last && !full() && k == layers - 1;  // the head has gathered for it
      const bool cold = sequence_parallel() && !hot && (full() || k == layers - 1);
      out += layer_backward(t, k > 0, cold);
      if (layers == 1) break;
    }
    if (layers > 2) out += real(layers - 2) * layer_backward(t, true, sequence_parallel() && full());
    if (first) out += pass(t.embedding_backward, t.gather);
    if (last) {
      out += pass(t.head_backward, t.gather + t.sum);
      if (sequence_parallel() && !full()) out.tensor += beyond(t.gather, t.head_backward);
    }
    return out;
  }

  // What the next pass of a stage hides of the sum that ends a pass. With sequence parallelism the next pass begins
  // with a gathering that waits for that sum, but for the embedding and for the time that its message takes. On the
  // last stage 1F1B's next pass is the backward pass that waits for the loss.
  void set_overlaps(Stage& out, const Tasks& t, bool first, bool last, const StepPieces& p) const {
    if (job_.parallelism.tensor == 1) return;
    const double wait = p.late_receives ? std::max(p.hop_forward, p.hop_backward) : 0;
    const auto hidden = [&](double sum) {
      return sequence_parallel() ? std::min(sum, std::max(wait, first ? t.embedding_forward : 0)) : sum;
    };
    if (!last) out.forward_overlap = hidden(t.sum);
    if (last && !p.round_trips) out.forward_overlap = hidden(t.loss);
    if (first) return;
    out.backward_overlap = hidden(t.sum);
    out.closing = t.sum;
  }

  // -- after the last backward pass ---------------------------------------------------------------------------------

  struct Bucket {
    double reduce = 0;
    double gather = 0;
    std::int64_t parameters = 0;
  };

  Result<Bucket> bucket(std::int64_t parameters, std::int64_t stage) const {
    Bucket out;
    out.parameters = parameters;
    if (parameters == 0 || job_.parallelism.data == 1) return out;
    const bool whole = training().sharding == model::Sharding::zero0;
    PR_ASSIGN(out.reduce, wire_.collective(whole ? Collective::all_reduce : Collective::reduce_scatter, Dimension::data,
                                           rank(stage), parameters * shape_.gradient_bytes));
    if (whole) return out;
    PR_ASSIGN(out.gather, wire_.collective(Collective::all_gather, Dimension::data, rank(stage),
                                           parameters * shape_.element_bytes));
    return out;
  }

  Status finish(Stage& out, const Tasks& t, std::int64_t index, std::int64_t layers, bool first, bool last) const {
    const std::int64_t norm = operators::norm_parameters(shape_);
    const std::int64_t table = operators::vocabulary_parameters(shape_);
    const bool borrows = job_.model.tied_embeddings && first;
    PR_ASSIGN(const Bucket layer, bucket(operators::layer_parameters(shape_), index));
    PR_ASSIGN(const Bucket embedding, bucket(first ? table : 0, index));
    PR_ASSIGN(const Bucket head, bucket(last ? (borrows ? 0 : table) + norm : 0, index));
    const double reduced = head.reduce + real(layers) * layer.reduce + embedding.reduce;
    out.reduce_tail = training().overlap_gradients ? tail(t, layer, embedding, head, layers, first) : reduced;
    PR_TRY(add_sums(out, t, index, layers, last));
    const std::int64_t parameters = layers * layer.parameters + embedding.parameters + head.parameters;
    const bool sharded = training().sharding != model::Sharding::zero0;
    const std::int64_t share = sharded ? (parameters + job_.parallelism.data - 1) / job_.parallelism.data : parameters;
    out.optimizer = rounded(operators::optimizer_step(share, shape_, job_.gpu));
    const double gathered = head.gather + real(layers) * layer.gather + embedding.gather;
    out.group_work = reductions() * reduced + gathers() * gathered;
    if (!sharded || training().sharding == model::Sharding::zero3) return {};
    out.gather_tail = gathered;
    return {};
  }

  // How often a bucket is reduced and gathered in a step.
  double reductions() const {
    const bool every = training().sharding == model::Sharding::zero2 ||
                       (training().sharding == model::Sharding::zero3 && training().reshard_after_forward);
    return every ? real(training().microbatches) : 1;
  }
  double gathers() const {
    if (training().sharding == model::Sharding::zero0) return 0;
    if (training().sharding != model::Sharding::zero3 || !training().reshard_after_forward) return 1;
    return 2 * real(training().microbatches);
  }

  // Reductions follow one another, each issued when its gradient exists: what remains after the last computation.
  double tail(const Tasks& t, const Bucket& layer, const Bucket& embedding, const Bucket& head, std::int64_t layers,
              bool first) const {
    const double after_first_layer = first ? t.sum + t.gather + t.embedding_backward : 0;
    const double interval = layer_backward(t, true, sequence_parallel() && full()).total();
    const double last_layer = after_first_layer + real(layers - 1) * interval;
    const double head_before = last_layer + interval;
    double longest = std::max(0.0, embedding.reduce);
    longest = std::max(longest, layer.reduce + embedding.reduce - after_first_layer);
    longest = std::max(longest, real(layers) * layer.reduce + embedding.reduce - last_layer);
    return std::max(longest, head.reduce + real(layers) * layer.reduce + embedding.reduce - head_before);
  }

  // Norm weights over the tensor group, the shared table over first and last stage.
  Status add_sums(Stage& out, const Tasks& t, std::int64_t index, std::int64_t layers, bool last) const {
    if (sequence_parallel()) {
      const std::int64_t norms = 2 * layers + (last ? 1 : 0);
      const std::int64_t bytes = norms * operators::norm_parameters(shape_) * shape_.gradient_bytes;
      PR_ASSIGN(const double sum, wire_.collective(Collective::all_reduce, Dimension::tensor, rank(index), bytes));
      out.reduce_tail = std::max(out.reduce_tail, index > 0 ? t.sum : 0) + sum;
    }
    const std::int64_t stages = job_.parallelism.pipeline;
    if (!job_.model.tied_embeddings || stages == 1 || (index > 0 && !last)) return {};
    const std::int64_t table = operators::vocabulary_parameters(shape_);
    const std::int64_t shards = training().sharding == model::Sharding::zero0 ? 1 : job_.parallelism.data;
    PR_ASSIGN(const double sum, wire_.collective(Collective::all_reduce, Dimension::pipeline, rank(index),
                                                 (table + shards - 1) / shards * shape_.gradient_bytes));
    out.reduce_tail = std::max(out.reduce_tail, sum);
    return {};
  }

  workload::TrainingJob job_;
  TransformerShape shape_;
  Wire wire_;
};

}  // namespace

Result<StepPieces> scenario_pieces(const study::Study& study, const fabric::Fabric& fabric) {
  if (!study.scenario.workload.trace.empty()) {
    return fail(
        ErrorCode::infeasible,
        "a step from traces has no closed form\n  hint: `photonrail simulate` runs it; give [model], [training] "
        "and [parallelism] instead of [workload] for a closed form");
  }
  return Builder(study, fabric).build();
}

Result<std::unique_ptr<fabric::Fabric>> fabric_of(const study::Study& study, const catalog::Catalog& catalog,
                                                  const study::Case& spec) {
  if (spec.electrical) {
    PR_ASSIGN(const auto box, catalog.network_switch(study.scenario.electrical.network_switch));
    if (!box.ports.value || !box.port_rate.value) {
      return fail(ErrorCode::infeasible, "the catalog gives no radix of " + box.name);
    }
    const auto options = fabric::electrical_options(study.scenario, *box.ports.value, *box.port_rate.value);
    return fabric::make_electrical(*spec.electrical, study.layout, options);
  }
  fabric::PhotonicOptions options = fabric::photonic_options(study.scenario);
  if (study::is_static(*spec.policy)) {
    PR_ASSIGN(auto split, study::static_split(study.graph, study.layout, study.scenario.rail.ports, *spec.policy));
    options.split.push_back(std::move(split));
  }
  return fabric::make_photonic(study.layout, options);
}

Result<StepTime> estimate_case(const study::Study& study, const catalog::Catalog& catalog, const study::Case& spec) {
  PR_ASSIGN(const auto fabric, fabric_of(study, catalog, spec));
  PR_ASSIGN(const StepPieces pieces, scenario_pieces(study, *fabric));
  return compose(pieces);
}

DecoderShape shape_of(const model::TransformerModel& m) {
  DecoderShape s;
  s.layers = m.layers;
  s.hidden = m.hidden;
  s.heads = m.heads;
  s.kv_heads = m.kv_heads;
  s.head_size = m.head_size > 0 ? m.head_size : m.hidden / std::max<std::int64_t>(1, m.heads);
  s.feed_forward = m.feed_forward;
  s.feed_forward_matrices = m.feed_forward_matrices;
  s.vocabulary = m.vocabulary;
  s.tied_embeddings = m.tied_embeddings;
  return s;
}

TrainingConfig config_of(const model::Scenario& scenario) {
  const model::Training& t = scenario.training;
  TrainingConfig c;
  c.sequence = t.sequence;
  c.global_batch = t.global_batch;
  c.micro_batch = t.global_batch / std::max<std::int64_t>(1, scenario.parallelism.data * t.microbatches);
  c.tensor = scenario.parallelism.tensor;
  c.pipeline = scenario.parallelism.pipeline;
  c.data = scenario.parallelism.data;
  c.gpipe = t.schedule == model::Schedule::gpipe;
  c.sequence_parallel = t.sequence_parallel && c.tensor > 1;
  c.sharding = t.sharding == model::Sharding::zero0   ? Sharding::none
               : t.sharding == model::Sharding::zero1 ? Sharding::optimizer
               : t.sharding == model::Sharding::zero2 ? Sharding::gradients
                                                      : Sharding::full;
  c.recompute = t.recompute == model::Recompute::none   ? Recompute::none
                : t.recompute == model::Recompute::full ? Recompute::full
                                                        : Recompute::selective;
  c.precision = t.precision == model::Precision::fp8 ? Precision::fp8 : Precision::bf16;
  c.reduce_bytes = real(workload::operand_bytes(t.gradient_precision));
  c.gradient_bytes = 4;
  c.overlap_gradients = t.overlap_gradients;
  c.overlap_parameters = false;
  return c;
}

std::int64_t tasks_of(const study::Study& study) {
  std::size_t most = 0;
  for (const model::Program& program : study.graph.programs) most = std::max(most, program.tasks.size());
  return static_cast<std::int64_t>(most);
}

}  // namespace photonrail::analytic

#include "workload/training_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "workload/training_schedule.h"

namespace photonrail::workload {
namespace {

using model::Collective;
using model::Dimension;
using model::Recompute;
using model::Sharding;
using model::Slot;
using model::Task;
using model::TaskIndex;
using model::TaskKind;
using operators::Work;

constexpr TaskIndex kNone = 0xffffffff;  // "no such task" in lists of dependencies

enum class Piece : std::uint8_t { embedding, layer, head };

// Parameters that are gathered, reduced and updated together.
struct Bucket {
  Piece piece = Piece::layer;
  std::int64_t layer = 0;
  std::int64_t parameters = 0;  // owned: reduced and updated here
  std::int64_t used = 0;        // gathered for a computation; more than owned where the head borrows the embedding
};

// What a task does to a bucket; each pair has one name.
enum class What : std::uint8_t {
  attention_forward,
  attention_backward,
  attention_recompute,
  feed_forward_forward,
  feed_forward_backward,
  feed_forward_recompute,
  forward,
  backward,
  gather_input,
  gather_saved,
  gather_gradient,
  sum_output,
  sum_gradient,
  sum_loss,
  gather_parameters,
  reduce_gradients,
  sum_table,
  update_parameters,
  count
};

constexpr std::array<const char*, static_cast<std::size_t>(What::count)> kWhat = {"attention forward",
                                                                                  "attention backward",
                                                                                  "attention recompute",
                                                                                  "feed-forward forward",
                                                                                  "feed-forward backward",
                                                                                  "feed-forward recompute",
                                                                                  "forward",
                                                                                  "backward",
                                                                                  "gather input",
                                                                                  "gather saved input",
                                                                                  "gather output gradient",
                                                                                  "sum output",
                                                                                  "sum input gradient",
                                                                                  "sum loss",
                                                                                  "gather parameters",
                                                                                  "reduce gradients",
                                                                                  "sum table gradient",
                                                                                  "gather updated parameters"};

std::string bucket_name(const Bucket& bucket) {
  if (bucket.piece == Piece::embedding) return "embedding";
  return bucket.piece == Piece::head ? "head" : fmt::format("layer {}", bucket.layer);
}

class StageBuilder {
 public:
  StageBuilder(const StepPlan& plan, std::int64_t stage, std::vector<std::string>& names)
      : plan_(plan), stage_(stage), slots_(stage_slots(plan.job, stage)), names_(names) {
    list_buckets();
    passes_ = pipeline_schedule(training().schedule, stage, parallelism().pipeline, training().microbatches);
    received_.assign(passes_.size(), kNone);
    gathered_.assign(passes_.size() * buckets_.size(), kNone);
    loss_.assign(static_cast<std::size_t>(training().microbatches), kNone);
    name_of_.assign(buckets_.size() * kWhat.size(), kNone);
    program_.dependency_start.push_back(0);
  }

  model::Program build() {
    for (std::size_t i = 0; i < passes_.size(); ++i) run_pass(i);
    finish_step();
    return std::move(program_);
  }

 private:
  const model::Training& training() const { return plan_.job.training; }
  const model::Parallelism& parallelism() const { return plan_.job.parallelism; }
  bool physical() const { return plan_.job.conventions == Conventions::physical; }
  bool first_stage() const { return stage_ == 0; }
  bool last_stage() const { return stage_ + 1 == parallelism().pipeline; }
  bool tensor_parallel() const { return parallelism().tensor > 1; }
  bool sequence_parallel() const { return tensor_parallel() && training().sequence_parallel; }
  bool data_parallel() const { return parallelism().data > 1; }

  void list_buckets() {
    const operators::TransformerShape& shape = plan_.shape;
    const std::int64_t norm = physical() ? operators::norm_parameters(shape) : 0;
    const std::int64_t table = operators::vocabulary_parameters(shape) * (physical() ? 1 : parallelism().tensor);
    const std::int64_t layer =
        operators::attention_parameters(shape) + operators::feed_forward_parameters(shape) + 2 * norm;
    const StageLayers layers = stage_layers(plan_.job, stage_);
    if (first_stage()) buckets_.push_back({Piece::embedding, 0, table, table});
    for (std::int64_t i = 0; i < layers.count; ++i) buckets_.push_back({Piece::layer, layers.first + i, layer, layer});
    const bool borrows = plan_.job.model.tied_embeddings && first_stage();
    if (last_stage()) buckets_.push_back({Piece::head, 0, (borrows ? 0 : table) + norm, table + norm});
  }

  // -- tasks ----------------------------------------------------------------------------------------------------------

  std::uint32_t intern(std::string text) {
    names_.push_back(std::move(text));
    return static_cast<std::uint32_t>(names_.size() - 1);
  }

  std::uint32_t name(std::size_t bucket, What what) {
    std::uint32_t& entry = name_of_[bucket * kWhat.size() + static_cast<std::size_t>(what)];
    if (entry == kNone) entry = intern(bucket_name(buckets_[bucket]) + " " + kWhat[static_cast<std::size_t>(what)]);
    return entry;
  }

  TaskIndex add(const Task& task, std::vector<TaskIndex> needs) {
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    while (!needs.empty() && needs.back() == kNone) needs.pop_back();
    program_.tasks.push_back(task);
    program_.dependencies.insert(program_.dependencies.end(), needs.begin(), needs.end());
    program_.dependency_start.push_back(static_cast<std::uint32_t>(program_.dependencies.size()));
    return static_cast<TaskIndex>(program_.tasks.size() - 1);
  }

  // Appends to the rank's chain of computations.
  void compute(std::uint32_t label, const Work& work, std::vector<TaskIndex> needs) {
    Task task;
    task.name = label;
    task.flops = work.flops;
    task.memory = {static_cast<std::int64_t>(work.bytes)};
    task.duration = time_from_seconds(work.seconds);
    needs.push_back(chain_);
    chain_ = add(task, std::move(needs));
  }

  TaskIndex collective(Collective kind, Dimension dimension, Slot slot, Bytes payload, std::uint32_t label,
                       std::vector<TaskIndex> needs) {
    Task task;
    task.kind = TaskKind::collective;
    task.collective = kind;
    task.dimension = dimension;
    task.slot = slot;
    task.ordinal = ordinals_[slot]++;
    task.name = label;
    task.bytes = payload;
    return add(task, std::move(needs));
  }

  TaskIndex tensor_collective(Collective kind, std::uint32_t label, std::vector<TaskIndex> needs) {
    return collective(kind, Dimension::tensor, slots_.tensor, plan_.activation, label, std::move(needs));
  }

  TaskIndex data_collective(Collective kind, Bytes payload, std::uint32_t label, std::vector<TaskIndex> needs) {
    return collective(kind, Dimension::data, slots_.data, payload, label, std::move(needs));
  }

  TaskIndex message(TaskKind kind, bool forward, std::int64_t microbatch, TaskIndex need) {
    Task task;
    task.kind = kind;
    task.dimension = Dimension::pipeline;
    const bool to_next = (kind == TaskKind::send) == forward;
    task.slot = to_next ? slots_.next : slots_.previous;
    task.ordinal = static_cast<std::uint32_t>(microbatch);
    task.bytes = plan_.message;
    const std::size_t which = (kind == TaskKind::send ? 0U : 1U) + (forward ? 0U : 2U);
    if (message_names_[which] == kNone) {
      message_names_[which] = intern(
          fmt::format("{} {}", kind == TaskKind::send ? "send" : "receive", forward ? "activations" : "gradients"));
    }
    task.name = message_names_[which];
    return add(task, {need});
  }

  // -- passes ---------------------------------------------------------------------------------------------------------

  std::size_t bucket_at(std::size_t pass, std::size_t position) const {
    return passes_[pass].forward ? position : buckets_.size() - 1 - position;
  }

  void run_pass(std::size_t pass) {
    const auto [forward, microbatch] = passes_[pass];
    post_receive(pass);
    if (training().post_receives_early) post_receive(pass + 1);
    value_ = received_[pass];
    if (!forward && last_stage()) value_ = loss_[static_cast<std::size_t>(microbatch)];
    for (std::size_t position = 0; position < buckets_.size(); ++position) {
      const std::size_t execution = pass * buckets_.size() + position;
      request_parameters(execution);
      request_parameters(execution + 1);
      weights_ = gathered_[execution];
      const std::size_t bucket = bucket_at(pass, position);
      if (forward) {
        run_forward(bucket, microbatch);
      } else {
        run_backward(bucket, microbatch);
      }
    }
    if (!forward && !training().overlap_gradients) {
      for (std::size_t i = buckets_.size(); i-- > 0;) reduce_gradients(i, microbatch);
    }
    if (forward ? !last_stage() : !first_stage()) message(TaskKind::send, forward, microbatch, value_);
  }

  void post_receive(std::size_t pass) {
    if (pass >= passes_.size() || received_[pass] != kNone) return;
    const auto [forward, microbatch] = passes_[pass];
    if (forward ? first_stage() : last_stage()) return;
    received_[pass] = message(TaskKind::receive, forward, microbatch, chain_);
  }

  bool gathers_parameters(const Pass& pass) const {
    if (!data_parallel() || training().sharding != Sharding::zero3) return false;
    return training().reshard_after_forward || (pass.forward && pass.microbatch == 0);
  }

  void request_parameters(std::size_t execution) {
    if (execution >= gathered_.size() || gathered_[execution] != kNone) return;
    const std::size_t pass = execution / buckets_.size();
    if (!gathers_parameters(passes_[pass])) return;
    const std::size_t bucket = bucket_at(pass, execution % buckets_.size());
    const Bytes payload{buckets_[bucket].used * plan_.parameter_bytes};
    gathered_[execution] =
        data_collective(Collective::all_gather, payload, name(bucket, What::gather_parameters), {chain_});
  }

  // -- forward --------------------------------------------------------------------------------------------------------

  void run_forward(std::size_t bucket, std::int64_t microbatch) {
    switch (buckets_[bucket].piece) {
      case Piece::embedding:
        compute(name(bucket, What::forward), plan_.embedding_forward, {weights_});
        value_ = physical() ? sum_output(bucket) : chain_;
        return;
      case Piece::layer:
        forward_block(bucket, What::attention_forward, plan_.attention_forward);
        forward_block(bucket, What::feed_forward_forward, plan_.feed_forward_forward);
        return;
      case Piece::head: return forward_head(bucket, microbatch);
    }
  }

  TaskIndex gather_input(std::size_t bucket) {
    if (!sequence_parallel()) return value_;
    return tensor_collective(Collective::all_gather, name(bucket, What::gather_input), {value_, chain_});
  }

  // Sum over the tensor group of what the last computation produced.
  TaskIndex sum(std::size_t bucket, What what) {
    if (!tensor_parallel()) return chain_;
    return tensor_collective(sequence_parallel() ? Collective::reduce_scatter : Collective::all_reduce,
                             name(bucket, what), {chain_});
  }
  TaskIndex sum_output(std::size_t bucket) { return sum(bucket, What::sum_output); }

  void forward_block(std::size_t bucket, What what, const Work& work) {
    value_ = gather_input(bucket);
    compute(name(bucket, what), work, {value_, weights_});
    value_ = sum_output(bucket);
  }

  // Vocabulary-parallel cross entropy sums three numbers per token over the tensor group: maximum, exponentials and
  // target.
  void forward_head(std::size_t bucket, std::int64_t microbatch) {
    if (physical()) value_ = gather_input(bucket);
    compute(name(bucket, What::forward), plan_.head_forward, {value_, weights_});
    value_ = chain_;
    if (physical() && tensor_parallel()) {
      constexpr std::int64_t kLossBytes = 3 * 4;
      value_ = collective(Collective::all_reduce, Dimension::tensor, slots_.tensor, {plan_.shape.tokens * kLossBytes},
                          name(bucket, What::sum_loss), {chain_});
    }
    loss_[static_cast<std::size_t>(microbatch)] = value_;
  }

  // -- backward -------------------------------------------------------------------------------------------------------

  void run_backward(std::size_t bucket, std::int64_t microbatch) {
    switch (buckets_[bucket].piece) {
      case Piece::embedding: backward_embedding(bucket); break;
      case Piece::layer: backward_layer(bucket, microbatch); return;
      case Piece::head: backward_head(bucket, microbatch); return;
    }
    if (training().overlap_gradients) reduce_gradients(bucket, microbatch);
  }

  void backward_embedding(std::size_t bucket) {
    if (physical() && sequence_parallel()) {
      value_ = tensor_collective(Collective::all_gather, name(bucket, What::gather_gradient), {value_, chain_});
    }
    compute(name(bucket, What::backward), plan_.embedding_backward, {value_, weights_});
    value_ = chain_;
  }

  void backward_head(std::size_t bucket, std::int64_t microbatch) {
    const bool gathers = physical() && sequence_parallel();
    const TaskIndex saved = gathers ? gather_saved(bucket, {value_, chain_}) : kNone;
    if (sequence_parallel() && training().recompute != Recompute::full) {
      saved_ = gather_saved(bucket - 1, {value_, chain_});  // of the last layer, one block ahead
    }
    compute(name(bucket, What::backward), plan_.head_backward, {value_, saved, weights_});
    if (training().overlap_gradients) reduce_gradients(bucket, microbatch);
    value_ = physical() ? sum(bucket, What::sum_gradient) : chain_;
  }

  void backward_layer(std::size_t bucket, std::int64_t microbatch) {
    if (training().recompute == Recompute::full) recompute_layer(bucket);
    const bool layer_before = bucket > 0 && buckets_[bucket - 1].piece == Piece::layer;
    const bool may_look_back = layer_before && training().recompute != Recompute::full;
    backward_block(bucket, What::feed_forward_backward, plan_.feed_forward_backward, bucket);
    start_block(bucket, may_look_back ? std::optional(bucket - 1) : std::nullopt);
    compute(name(bucket, What::attention_backward), plan_.attention_backward, {value_, current_saved_, weights_});
    if (training().overlap_gradients) reduce_gradients(bucket, microbatch);
    value_ = sum(bucket, What::sum_gradient);
  }

  void backward_block(std::size_t bucket, What what, const Work& work, std::size_t next) {
    start_block(bucket, next);
    compute(name(bucket, what), work, {value_, current_saved_, weights_});
    value_ = sum(bucket, What::sum_gradient);
  }

  // Gathers what a block's backward pass needs, and the saved input of the block that follows it (of bucket `next`).
  void start_block(std::size_t bucket, std::optional<std::size_t> next) {
    current_saved_ = kNone;
    if (!sequence_parallel()) return;
    const TaskIndex arrived = value_;
    value_ = tensor_collective(Collective::all_gather, name(bucket, What::gather_gradient), {arrived, chain_});
    current_saved_ = saved_ != kNone ? saved_ : gather_saved(bucket, {arrived, chain_});
    saved_ = next ? gather_saved(*next, {value_, chain_}) : kNone;
  }

  TaskIndex gather_saved(std::size_t bucket, std::vector<TaskIndex> needs) {
    return tensor_collective(Collective::all_gather, name(bucket, What::gather_saved), std::move(needs));
  }

  // Runs the layer's forward pass again, collectives included, once the gradient has arrived.
  void recompute_layer(std::size_t bucket) {
    const TaskIndex gradient = value_;
    forward_block(bucket, What::attention_recompute, plan_.attention_forward);
    forward_block(bucket, What::feed_forward_recompute, plan_.feed_forward_forward);
    value_ = gradient;
  }

  bool reduces_in(std::int64_t microbatch) const {
    if (microbatch + 1 == training().microbatches) return true;
    if (training().sharding == Sharding::zero2) return true;
    return training().sharding == Sharding::zero3 && training().reshard_after_forward;
  }

  void reduce_gradients(std::size_t bucket, std::int64_t microbatch) {
    if (!reduces_in(microbatch) || buckets_[bucket].parameters == 0) return;
    TaskIndex reduced = chain_;
    if (data_parallel()) {
      const bool whole = training().sharding == Sharding::zero0;
      reduced = data_collective(whole ? Collective::all_reduce : Collective::reduce_scatter,
                                {buckets_[bucket].parameters * plan_.gradient_bytes},
                                name(bucket, What::reduce_gradients), {chain_});
    }
    if (!physical() && tensor_parallel() && buckets_[bucket].piece != Piece::layer) {
      reduced =
          collective(Collective::all_reduce, Dimension::tensor, slots_.tensor,
                     {buckets_[bucket].parameters * plan_.gradient_bytes}, name(bucket, What::sum_table), {reduced});
    }
    if (microbatch + 1 == training().microbatches) reductions_.push_back(reduced);
  }

  // -- end of the step ------------------------------------------------------------------------------------------------

  void finish_step() {
    std::int64_t parameters = 0;
    for (const Bucket& bucket : buckets_) parameters += bucket.parameters;
    if (!physical()) return;
    sum_norm_gradients();
    sum_tied_gradients();
    const bool sharded = training().sharding != Sharding::zero0;
    const std::int64_t share = sharded ? (parameters + parallelism().data - 1) / parallelism().data : parameters;
    compute(intern("optimizer"), operators::optimizer_step(share, plan_.shape, plan_.job.gpu), reductions_);
    if (!data_parallel() || !sharded || training().sharding == Sharding::zero3) return;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (buckets_[i].parameters == 0) continue;
      data_collective(Collective::all_gather, {buckets_[i].parameters * plan_.parameter_bytes},
                      name(i, What::update_parameters), {chain_});
    }
  }

  // Under sequence parallelism each rank sees only its tokens in the norms, whose weights every rank holds.
  void sum_norm_gradients() {
    if (!sequence_parallel()) return;
    std::int64_t norms = 0;
    for (const Bucket& bucket : buckets_) {
      if (bucket.piece != Piece::embedding) norms += bucket.piece == Piece::layer ? 2 : 1;
    }
    const Bytes payload{norms * operators::norm_parameters(plan_.shape) * plan_.gradient_bytes};
    std::vector<TaskIndex> needs = reductions_;
    needs.push_back(chain_);
    reductions_.push_back(collective(Collective::all_reduce, Dimension::tensor, slots_.tensor, payload,
                                     intern("sum norm gradients"), std::move(needs)));
  }

  // First and last stage each hold the shared table; with sharded gradients each rank sums the part that it owns.
  void sum_tied_gradients() {
    if (slots_.tied == StageSlots::kNoSlot) return;
    const std::int64_t table = operators::vocabulary_parameters(plan_.shape);
    const std::int64_t shards = training().sharding == Sharding::zero0 ? 1 : parallelism().data;
    std::vector<TaskIndex> needs = reductions_;
    needs.push_back(chain_);
    reductions_.push_back(collective(Collective::all_reduce, Dimension::pipeline, slots_.tied,
                                     {(table + shards - 1) / shards * plan_.gradient_bytes},
                                     intern("sum tied table gradients"), std::move(needs)));
  }

  const StepPlan& plan_;
  std::int64_t stage_ = 0;
  StageSlots slots_;
  std::vector<std::string>& names_;
  model::Program program_;
  std::vector<Bucket> buckets_;  // in forward order
  std::vector<Pass> passes_;
  std::vector<TaskIndex> received_;     // per pass
  std::vector<TaskIndex> gathered_;     // per pass and position
  std::vector<TaskIndex> loss_;         // per micro-batch: what its backward pass starts from
  std::vector<TaskIndex> reductions_;   // of the last micro-batch: what the optimizer waits for
  std::vector<std::uint32_t> name_of_;  // per bucket and What
  std::array<std::uint32_t, 4> message_names_{kNone, kNone, kNone, kNone};
  std::array<std::uint32_t, 8> ordinals_{};  // next ordinal per slot
  TaskIndex chain_ = kNone;                  // last computation
  TaskIndex value_ = kNone;                  // produces the activation or gradient that the next block takes
  TaskIndex weights_ = kNone;                // gathers the parameters of the bucket at hand
  TaskIndex saved_ = kNone;                  // gathers the saved input of the next block of a backward pass
  TaskIndex current_saved_ = kNone;          // the same for the block at hand
};

}  // namespace

StageSlots stage_slots(const TrainingJob& job, std::int64_t stage) {
  StageSlots slots;
  Slot next = 0;
  const bool first = stage == 0;
  const bool last = stage + 1 == job.parallelism.pipeline;
  if (job.parallelism.tensor > 1) slots.tensor = next++;
  if (job.parallelism.data > 1) slots.data = next++;
  if (!first) slots.previous = next++;
  if (!last) slots.next = next++;
  if (job.model.tied_embeddings && first != last) slots.tied = next++;
  return slots;
}

model::Program build_stage_program(const StepPlan& plan, std::int64_t stage, std::vector<std::string>& names) {
  return StageBuilder(plan, stage, names).build();
}

}  // namespace photonrail::workload

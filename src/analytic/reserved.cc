#include "analytic/reserved.h"

#include <algorithm>

#include "analytic/memory.h"

namespace photonrail::analytic {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

// Sizes of one rank, in elements of one token.
struct Widths {
  double tensor = 0;    // ranks
  double hidden = 0;    // whole
  double residual = 0;  // of the part that a rank keeps
  double queries = 0;
  double keys = 0;
  double feed_forward = 0;
  double logits = 0;
  double operand = 0;  // bytes of an element that enters a product
};
Widths widths_of(const DecoderShape& s, const TrainingConfig& c) {
  const double t = real(c.tensor);
  Widths w;
  w.tensor = t;
  w.hidden = real(s.hidden);
  w.residual = w.hidden / (c.sequence_parallel ? t : 1);
  w.queries = real(s.heads * s.head_size) / t;
  w.keys = real(std::max(s.kv_heads, c.tensor) * s.head_size) / t;
  w.feed_forward = real(s.feed_forward) / t;
  w.logits = real(s.vocabulary) / t;
  w.operand = c.precision == Precision::bf16 ? 2 : 1;
  return w;
}

// Bytes of a token that a layer keeps for its backward pass.
double saved_of_layer(const DecoderShape& s, const TrainingConfig& c, const Widths& w) {
  if (c.recompute == Recompute::none) {
    return activation_bytes(s, c) / (real(c.micro_batch) * real(c.sequence) / real(c.context));
  }
  double bytes = 2 * w.residual;
  if (c.recompute == Recompute::full) return bytes;
  bytes += 2 * (w.queries + w.keys + w.feed_forward + w.hidden);  // wq, wv, w1, w2
  bytes += 2 * w.queries + 4 * real(s.heads) / w.tensor;  // attention
  if (w.tensor > 1) bytes += 2 * 2 * w.residual;  // reduce-scatters of wo and w2
  return bytes;
}

// Bytes of a token at the widest moment of a layer's forward pass, without what it saves.
double widest_of_layer(const TrainingConfig& c, const Widths& w) {
  const bool copies = w.tensor > 1 && !c.overlap_tensor;
  const double input = w.tensor > 1 ? w.operand * w.hidden : 2 * w.hidden;
  const double product = w.operand * w.feed_forward;
  const double up = input + 4 * w.feed_forward + product;
  const double down = product + (copies ? 2 * 2 * w.hidden : 2 * w.residual);
  return 2 * w.residual + std::max(up, down);
}

// The final norm in 4 bytes, its input and result, and the head's gathered input, twice.
double input_of_head(const Widths& w) { return 14 * w.residual + (w.tensor > 1 ? 2 * 2 * w.hidden : 0); }

// Of a token while a layer is recomputed and its gradients are taken: its activations, gradients of the feed-forward
// block's three widths, a gathered gradient and its sum.
double backward_of_layer(const DecoderShape& s, const TrainingConfig& c, const Widths& w) {
  TrainingConfig whole = c;
  whole.recompute = Recompute::none;
  const double activations = c.recompute == Recompute::none ? 0 : saved_of_layer(s, whole, w);
  return activations + 6 * w.feed_forward + 2 * 2 * w.hidden;
}

struct Stage {
  double layers = 0;
  double tables = 0;     // weights of embedding and head on this rank
  double in_flight = 0;  // micro-batches of which something is saved, in layers of this stage
  bool loss = false;
};

ReservedMemory reserved_of(const DecoderShape& s, const TrainingConfig& c, const Stage& stage) {
  const Widths w = widths_of(s, c);
  const double tokens = real(c.micro_batch) * real(c.sequence) / real(c.context);
  const double layer = (attention_weights(s) + dense_weights(s)) / w.tensor;
  const double parameters = stage.layers * layer + stage.tables;
  const bool sharded = c.sharding == Sharding::full;
  const bool kept = c.pipeline > 1;  // layers stay gathered from one micro-batch to the next
  ReservedMemory use;
  use.states = 16 * parameters / (sharded ? real(c.data * c.context) : 1);
  if (sharded) {
    const double computing = kept ? 2 * parameters : 2 * (stage.tables + layer);
    const double gathering = 2 * (stage.tables + layer);
    const double reducing = c.reduce_bytes * std::max(stage.tables, layer);
    const double adding = kept && microbatches_of(c) > 1 ? c.gradient_bytes * parameters : 0;
    use.gathered = computing + gathering + reducing + adding;
  }
  use.saved = tokens * stage.layers * stage.in_flight * saved_of_layer(s, c, w);
  if (kept) use.saved += tokens * real(microbatches_of(c)) * 2 * w.residual;  // buffers of received messages
  if (stage.loss) {
    use.hole = tokens * std::max(widest_of_layer(c, w), input_of_head(w));
    use.loss = tokens * (w.tensor > 1 ? 18 : 14) * w.logits;
  } else {
    use.hole = tokens * backward_of_layer(s, c, w);
  }
  return use;
}

}  // namespace

ReservedMemory reserved_memory(const DecoderShape& s, const TrainingConfig& c) {
  const double table = table_weights(s) / real(c.tensor);
  const double layers = real(s.layers) / real(c.pipeline);
  if (c.pipeline == 1) return reserved_of(s, c, {layers, (s.tied_embeddings ? 1 : 2) * table, 1, true});
  const ReservedMemory first = reserved_of(s, c, {layers, table, activations_in_flight(c), false});
  const ReservedMemory last = reserved_of(s, c, {layers, table, 1, true});
  return first.total() > last.total() ? first : last;
}

}  // namespace photonrail::analytic

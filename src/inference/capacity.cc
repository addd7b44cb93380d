// Memory of a plan: what is on the fullest GPU, and the largest batch that fits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "inference/plan.h"

namespace photonrail::inference {

// Cache pages are whole; windowed layers keep no more than the window. `batch` is spread over attention copies; every
// micro-batch of a pipeline keeps its cache on every stage.
double Plan::cache_bytes(double batch, double context) const {
  const auto page = static_cast<double>(engine_.block_tokens);
  const auto paged = [page](double tokens) { return std::ceil(tokens / page) * page; };
  const double windowed = window_cache_ * paged(std::min(context, window_));
  return per_copy(batch) * (paged(context) * (cache_per_token_ - window_cache_) + windowed + state_per_sequence_);
}

// The largest pass: a full budget of tokens, or the decodes where they are more; logits for each sequence in it.
double Plan::activations(double batch) const {
  const double sequences = per_copy(micro_batch(batch));
  const double tokens = std::max(static_cast<double>(engine_.prefill_budget), sequences);
  return tokens * activation_per_token_ + sequences * activation_per_logit_;
}

MemoryUse Plan::memory(double batch, double context) const {
  MemoryUse use;
  use.weights = weights_;
  use.cache = cache_bytes(batch, context);
  use.activations = activations(batch);
  use.workspace = static_cast<double>(engine_.workspace.count);
  use.capacity = kernels_.rates().memory_bytes;
  const double kept = 1 - engine_.memory_fraction;
  const double free = use.capacity - use.weights - use.activations - use.workspace;
  use.reserve = engine_.fraction_of_total ? kept * use.capacity : kept * std::max(free, 0.0);
  return use;
}

double Plan::cache_tokens(double batch) const {
  const MemoryUse use = memory(batch, 0);
  return std::max(-use.shortfall(), 0.0) / std::max(cache_per_token_, 1.0) * copies_;
}

// Bisection over whole batches: memory grows with the batch.
double Plan::largest_batch(double context) const {
  const auto limit = static_cast<double>(engine_.largest_batch) * copies_ * stages_;
  double low = 0;
  double high = limit + 1;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (memory(middle, context).fits() ? low : high) = middle;
  }
  return low;
}

std::string Plan::shortfall_text(const MemoryUse& use, double context) const {
  if (use.fits()) return {};
  const auto gb = [](double bytes) { return bytes * 1e-9; };
  std::string text = fmt::format(
      "each GPU would need {:.1f} GB and has {:.1f} GB, {:.1f} GB too few: weights {:.1f}, cache {:.1f}, activations "
      "{:.1f}, workspace {:.1f}, kept free {:.1f} GB",
      gb(use.total() + use.reserve), gb(use.capacity), gb(use.shortfall()), gb(use.weights), gb(use.cache),
      gb(use.activations), gb(use.workspace), gb(use.reserve));
  const double batch = largest_batch(context);
  if (batch > 0)
    return text + fmt::format("; the largest batch of {:.0f} tokens each that fits is {:.0f}", context, batch);
  return text + "; not even one sequence fits: use more GPUs, smaller formats or more memory";
}

}  // namespace photonrail::inference

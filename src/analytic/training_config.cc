#include "analytic/training_config.h"

#include <fmt/format.h>

namespace photonrail::analytic {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

struct Range {
  const char* name;
  std::int64_t value;
  std::int64_t low;
  std::int64_t high;
};

Status check_divides(const char* part, std::int64_t divisor, const char* whole, std::int64_t value) {
  if (value % divisor == 0) return {};
  return fail(ErrorCode::invalid_input,
              fmt::format("{} is {}, which {} ({}) does not divide", whole, value, part, divisor));
}

}  // namespace

Status check(const DecoderShape& s, const TrainingConfig& c) {
  constexpr std::int64_t kMany = 1 << 20;
  const Range ranges[] = {
      {"layers", s.layers, 1, 10'000},
      {"hidden", s.hidden, 1, 1 << 18},
      {"heads", s.heads, 1, 1 << 14},
      {"kv_heads", s.kv_heads, 1, 1 << 14},
      {"head_size", s.head_size, 1, 1 << 14},
      {"feed_forward", s.feed_forward, s.experts > 0 ? 0 : 1, kMany},
      {"feed_forward_matrices", s.feed_forward_matrices, 2, 3},
      {"vocabulary", s.vocabulary, 1, 1 << 24},
      {"sequence", c.sequence, 1, 1 << 26},
      {"global_batch", c.global_batch, 1, 1 << 30},
      {"micro_batch", c.micro_batch, 1, 1 << 20},
      {"tensor degree", c.tensor, 1, 1 << 14},
      {"pipeline degree", c.pipeline, 1, 10'000},
      {"interleave", c.interleave, 1, 10'000},
      {"data degree", c.data, 1, kMany},
      {"context degree", c.context, 1, kMany},
      {"expert degree", c.expert, 1, kMany},
  };
  for (const Range& r : ranges) {
    if (r.value >= r.low && r.value <= r.high) continue;
    return fail(ErrorCode::invalid_input,
                fmt::format("{} is {}, but must be between {} and {}", r.name, r.value, r.low, r.high));
  }
  PR_TRY(check_divides("the number of kv_heads", s.kv_heads, "heads", s.heads));
  PR_TRY(check_divides("the tensor degree", c.tensor, "heads", s.heads));
  PR_TRY(check_divides("data degree x micro_batch", c.data * c.micro_batch, "global_batch", c.global_batch));
  PR_TRY(check_divides("the context degree", c.context, "sequence", c.sequence));
  if (s.layers + (c.pipeline > 1 ? 2 : 0) < c.pipeline * c.interleave) {
    return fail(ErrorCode::invalid_input,
                fmt::format("{} stages of {} chunks need as many layers, but the model has {}", c.pipeline,
                            c.interleave, s.layers));
  }
  if (c.expert == 1) return {};
  PR_TRY(check_divides("the expert degree", c.expert, "experts", s.experts));
  return check_divides("the expert degree", c.expert, "data x context x tensor", c.data * c.context * c.tensor);
}

double attention_weights(const DecoderShape& s) {
  return real(s.hidden) * real(s.head_size) * real(2 * s.heads + 2 * s.kv_heads);
}
double dense_weights(const DecoderShape& s) {
  return real(s.feed_forward_matrices) * real(s.hidden) * real(s.feed_forward);
}
double shared_weights(const DecoderShape& s) {
  return real(s.feed_forward_matrices) * real(s.hidden) * real(s.expert_feed_forward) * real(s.shared_experts);
}
double expert_weights(const DecoderShape& s) {
  return real(s.experts) * real(s.hidden) * (real(s.feed_forward_matrices) * real(s.expert_feed_forward) + 1);
}
double table_weights(const DecoderShape& s) { return real(s.vocabulary) * real(s.hidden); }
std::int64_t expert_layers(const DecoderShape& s) { return s.experts > 0 ? s.layers - s.dense_layers : 0; }

double model_flops(const DecoderShape& s, const TrainingConfig& c, bool causal) {
  const double tokens = real(c.global_batch) * real(c.sequence);
  const double moe = real(expert_layers(s));
  const double routed =
      real(s.experts_per_token) * real(s.feed_forward_matrices) * real(s.hidden) * real(s.expert_feed_forward);
  const double per_token = real(s.layers) * attention_weights(s) + (real(s.layers) - moe) * dense_weights(s) +
                           moe * (routed + shared_weights(s)) + table_weights(s);
  const double core = (causal ? 1.0 : 2.0) * real(c.sequence) * real(s.heads) * real(s.head_size) * real(s.layers);
  return 6 * tokens * (per_token + core);
}

}  // namespace photonrail::analytic

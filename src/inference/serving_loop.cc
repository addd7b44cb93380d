#include "inference/serving_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <vector>

#include "base/check.h"
#include "base/random.h"

namespace photonrail::inference {

namespace {

constexpr std::int64_t kMostRequests = 1'000'000;

struct Request {
  double input = 0;
  double output = 0;
  double prefilled = 0;
  double sent = 0;
  double arrives = 0;
  double first_token = 0;
  double ended = 0;
};

struct End {  // of a decoding request
  std::int64_t step = 0;
  std::size_t request = 0;
  friend bool operator>(const End& a, const End& b) {
    return a.step != b.step ? a.step > b.step : a.request > b.request;
  }
};

class Loop {
 public:
  Loop(const Plan& plan, const RequestShape& shape, const LoopOptions& options, std::int64_t requests)
      : plan_(plan),
        options_(options),
        stages_(static_cast<double>(plan.parallel().pipeline)),
        copies_(static_cast<double>(plan.parallel().attention_data)),
        overhead_(to_seconds(plan.engine().request_overhead)),
        places_(static_cast<double>(plan.engine().largest_batch) * copies_ * stages_),
        cache_(plan.cache_tokens(static_cast<double>(options.concurrency))) {
    RandomStream stream(options.seed, "serving.lengths");
    const auto draw = [&](double longest) {
      if (options.shortest >= 1) return longest;
      const double shortest = std::max(1.0, std::floor(options.shortest * longest));
      return shortest + std::floor(stream.uniform() * (longest - shortest + 1));
    };
    requests_.resize(static_cast<std::size_t>(requests));
    for (Request& request : requests_) {
      request.input = draw(shape.input);
      request.output = draw(shape.output);
    }
  }

  bool fits() const {
    return std::all_of(requests_.begin(), requests_.end(),
                       [&](const Request& r) { return r.input + r.output <= cache_; });
  }

  LoopTimes run() {
    const auto first = std::min(static_cast<std::size_t>(options_.concurrency), requests_.size());
    for (std::size_t i = 0; i < first; ++i) send(0);
    while (ended_ < requests_.size()) {
      admit();
      if (!entering_.empty() && !holds_back()) {
        prefill_pass();
      } else if (decoding() > 0) {
        decode_passes();
      } else {
        now_ = std::max(now_, requests_[waiting_.front()].arrives);
        planned_ = now_;
      }
    }
    return times();
  }

 private:
  double decoding() const { return static_cast<double>(ends_.size()); }
  double charged(const Request& request) const {
    return request.input + plan_.engine().reserved_output * request.output;
  }

  void send(double at) {
    if (next_ == requests_.size()) return;
    Request& request = requests_[next_];
    request.sent = at;
    request.arrives = at + overhead_;
    waiting_.push_back(next_++);
  }

  // Whether the engine lets prompts wait for more of them.
  bool holds_back() {
    const Engine& engine = plan_.engine();
    if (engine.prompt_wait == 0 || decoding() <= 0 || requests_[entering_.front()].prefilled > 0) return false;
    double tokens = decoding();
    for (const std::size_t index : entering_) tokens += requests_[index].input;
    const double budget = static_cast<double>(engine.prefill_budget) * copies_ * stages_;
    if (held_passes_ >= engine.prompt_wait || tokens >= engine.prompt_wait_fill * budget) {
      held_passes_ = 0;
      return false;
    }
    ++held_passes_;
    return true;
  }

  // Whoever has arrived when the coming pass was laid out and finds a place and room in the cache, in order.
  void admit() {
    while (!waiting_.empty()) {
      const Request& request = requests_[waiting_.front()];
      const double size = charged(request);
      const double admitted = decoding() + static_cast<double>(entering_.size());
      if (request.arrives > planned_ || admitted >= places_ || reserved_ + size > cache_) return;
      reserved_ += size;
      entering_.push_back(waiting_.front());
      waiting_.pop_front();
    }
  }

  // One pass with as much of the entering prompts as the budget takes, in order; at least something of the first.
  void prefill_pass() {
    const Engine& engine = plan_.engine();
    const double decodes = engine.separate_prefill ? 0 : decoding();
    const double budget = static_cast<double>(engine.prefill_budget) * copies_ * stages_;
    double room = std::max(budget - decodes, 1.0);
    double prompts = 0;
    double tokens = 0;
    double past = 0;
    std::size_t whole = 0;  // prompts that this pass completes
    for (const std::size_t index : entering_) {
      Request& request = requests_[index];
      const double left = request.input - request.prefilled;
      if (room <= 0 || (!engine.chunked_prefill && left > room && prompts > 0)) break;
      const double taken = engine.chunked_prefill ? std::min(left, room) : left;
      past += request.prefilled;
      prompts += 1;
      tokens += taken;
      room -= taken;
      request.prefilled += taken;
      if (taken == left) ++whole;
    }
    const double micro = decodes > 0 ? std::max(decodes / stages_, 1.0) : 0;
    const double each = std::max(prompts / stages_, 1.0);
    advance(plan_.evaluate({.decodes = micro,
                            .context = mean_context(),
                            .prompts = each,
                            .tokens = tokens / (each * stages_),
                            .past = past / prompts}),
            decodes > 0 ? 1 : 0, 1);
    first_tokens(whole);
    collect_ended();
  }

  // Passes of decodes alone, until one ends or somebody arrives who may enter.
  void decode_passes() {
    const double steps_left = static_cast<double>(ends_.top().step - step_);
    double steps = steps_left;
    if (!entering_.empty()) {
      steps = 1;  // prompts are held back
    } else if (!waiting_.empty() && requests_[waiting_.front()].arrives > planned_) {
      const double wait = std::max(requests_[waiting_.front()].arrives - now_, 0.0);
      const double one = plan_.decode(decoding(), mean_context()).seconds;
      const auto ahead = static_cast<double>(plan_.engine().passes_ahead);
      steps = std::clamp(std::ceil(wait / one) + (wait > 0 ? ahead : 0), 1.0, steps_left);
    }
    advance(plan_.decode_run(decoding(), mean_context(), steps), static_cast<std::int64_t>(steps), steps);
    collect_ended();
  }

  double mean_context() const { return ends_.empty() ? 0 : contexts_ / decoding(); }

  void advance(const StepTime& time, std::int64_t steps, double passes) {
    now_ += time.seconds;
    // The pass that follows was laid out when so many passes before it began.
    planned_ = std::max(planned_, now_ - static_cast<double>(plan_.engine().passes_ahead) * time.seconds / passes);
    step_ += steps;
    contexts_ += decoding() * static_cast<double>(steps);
    passes_ += static_cast<std::int64_t>(passes);
    basis_ = std::max(basis_, time.basis);
  }

  void first_tokens(std::size_t prompts) {
    for (std::size_t i = 0; i < prompts; ++i) {
      const std::size_t index = entering_.front();
      entering_.pop_front();
      Request& request = requests_[index];
      request.first_token = now_;
      ends_.push({step_ + static_cast<std::int64_t>(request.output) - 1, index});
      contexts_ += request.input + 1;
    }
  }

  void collect_ended() {
    while (!ends_.empty() && ends_.top().step <= step_) {
      Request& request = requests_[ends_.top().request];
      ends_.pop();
      request.ended = now_;
      contexts_ -= request.input + request.output;
      reserved_ -= charged(request);
      ++ended_;
      send(now_);
    }
    if (ends_.empty()) contexts_ = 0;  // no rounding left over
  }

  LoopTimes times() const {
    LoopTimes result;
    std::vector<double> ttfts;
    double tokens = 0;
    double residence = 0;
    std::int64_t answers = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const Request& request = requests_[i];
      tokens += request.output;
      residence += request.ended - request.sent;
      if (i < static_cast<std::size_t>(options_.uncounted)) continue;
      ttfts.push_back(request.first_token - request.sent);
      result.ttft += ttfts.back();
      result.latency += request.ended - request.sent;
      if (request.output <= 1) continue;
      result.tpot += (request.ended - request.first_token) / (request.output - 1);
      ++answers;
    }
    const auto counted = static_cast<double>(ttfts.size());
    result.ttft /= counted;
    result.latency /= counted;
    result.tpot /= std::max(static_cast<double>(answers), 1.0);
    std::sort(ttfts.begin(), ttfts.end());
    result.median_ttft = ttfts[ttfts.size() / 2];
    result.p99_ttft = ttfts[ttfts.size() * 99 / 100];
    result.seconds = now_;
    result.tokens_per_second = tokens / now_;
    result.in_system = residence / now_;
    result.requests = static_cast<std::int64_t>(requests_.size());
    result.passes = passes_;
    result.basis = basis_;
    return result;
  }

  const Plan& plan_;
  const LoopOptions& options_;
  double stages_;
  double copies_;
  double overhead_;
  double places_;
  double cache_;  // tokens
  std::vector<Request> requests_;
  std::deque<std::size_t> waiting_;   // sent; arrivals ascend
  std::deque<std::size_t> entering_;  // admitted, not yet prefilled
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::size_t next_ = 0;  // to be sent
  std::size_t ended_ = 0;
  double now_ = 0;
  double planned_ = 0;  // when the coming pass was laid out
  std::int64_t held_passes_ = 0;
  double contexts_ = 0;  // sum over decoding requests
  double reserved_ = 0;  // tokens
  std::int64_t step_ = 0;
  std::int64_t passes_ = 0;
  Basis basis_ = Basis::measured;
};

}  // namespace

Result<LoopTimes> closed_loop(const Plan& plan, const RequestShape& shape, const LoopOptions& options) {
  if (options.concurrency < 1 || options.requests < 0 || options.concurrency > kMostRequests ||
      options.requests > kMostRequests) {
    return fail(ErrorCode::invalid_input,
                fmt::format("a closed loop needs 1 to {} clients and at most as many requests", kMostRequests));
  }
  if (!(shape.input >= 1 && shape.output >= 1) || !(options.shortest > 0)) {
    return fail(ErrorCode::invalid_input, "prompts and answers must have at least one token");
  }
  const std::int64_t wanted = options.requests > 0 ? options.requests : 10 * options.concurrency;
  const std::int64_t requests = std::min(wanted, kMostRequests);
  if (options.uncounted < 0 || options.uncounted >= requests) {
    return fail(ErrorCode::invalid_input, "fewer requests must be left uncounted than are sent");
  }
  Loop loop(plan, shape, options, requests);
  if (!loop.fits()) {
    const double context = shape.input + shape.output;
    const std::string why = plan.shortfall_text(plan.memory(1, context), context);
    return fail(ErrorCode::infeasible,
                why.empty() ? "a whole request does not fit into the cache beside the activations of so many" : why);
  }
  return loop.run();
}

}  // namespace photonrail::inference

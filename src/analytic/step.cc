#include "analytic/step.h"

#include <algorithm>

namespace photonrail::analytic {
namespace {

// Sums over the stages before one.
struct Prefix {
  double forward = 0;
  double backward = 0;
};

// What `microbatches` passes each way take of stage i from the arrival of the first.
double occupied(const StepPieces& p, std::int64_t i, double microbatches) {
  const Stage& s = p.stage(i);
  double each = s.forward.total() + s.backward.total() - s.forward_overlap - s.backward_overlap;
  if (!p.late_receives) return microbatches * each;
  if (i < p.stages - 1) each += p.hop_backward;
  return microbatches * each + (i > 0 ? (microbatches - 1) * p.hop_forward : 0);
}

// One round trip of a micro-batch from stage 0 to the last stage and back.
double round_trip(const StepPieces& p) {
  double sum = static_cast<double>(p.stages - 1) * (p.hop_forward + p.hop_backward) - p.first.backward_overlap;
  for (std::int64_t i = 0; i < p.stages; ++i) sum += p.stage(i).forward.total() + p.stage(i).backward.total();
  return sum;
}

StepTime describe(const Stage& s, double microbatches, double seconds) {
  const Pass work = microbatches * (s.forward + s.backward);
  StepTime t;
  t.seconds = seconds;
  t.compute = work.compute;
  t.tensor = work.tensor;
  t.context = work.context;
  t.experts = work.experts;
  t.gather = work.gather;
  t.messages = work.messages;
  t.reduce = s.reduce_tail;
  t.optimizer = s.optimizer;
  t.update = s.gather_tail;
  t.bubble = seconds - (work.total() - s.closing) - t.reduce - t.optimizer - t.update;
  t.tensor -= s.closing;
  return t;
}

}  // namespace

StepTime compose(const StepPieces& p) {
  const std::int64_t last = p.stages - 1;
  const double m = static_cast<double>(p.microbatches);
  const double chunk = 1.0 / static_cast<double>(p.chunks);
  Prefix before_last;
  for (std::int64_t j = 0; j < last; ++j) {
    before_last.forward += chunk * p.stage(j).forward.total() + p.hop_forward;
    before_last.backward += chunk * p.stage(j).backward.total() + p.hop_backward;
  }
  // When the gradient leaves stage i for the last time, by the chain through the heaviest stage k >= i: from the last
  // stage down. The last pass hides nothing behind a next one.
  const Stage& end_stage = p.stage(last);
  const auto through_last = [&](double microbatches) {
    return before_last.forward + occupied(p, last, microbatches) + end_stage.backward_overlap;
  };
  double out = through_last(m);
  const std::int64_t trips = p.round_trips && p.chunks == 1 ? (p.microbatches - 1) / p.stages : 0;
  if (trips > 0) {
    const double n = static_cast<double>(trips);
    out = std::max(out, n * round_trip(p) + through_last(m - n * static_cast<double>(p.stages)));
  }
  StepTime best;
  double upstream = before_last.forward;
  for (std::int64_t i = last; i >= 0; --i) {
    const Stage& s = p.stage(i);
    if (i < last) {
      upstream -= chunk * s.forward.total() + p.hop_forward;
      out = std::max(out + chunk * s.backward.total() + p.hop_backward,
                     upstream + occupied(p, i, m) + s.backward_overlap);
    }
    const double after = s.reduce_tail + s.optimizer + s.gather_tail;
    const double end = std::max(out - s.closing + after, s.group_work);
    if (end > best.seconds) best = describe(s, m, end);
  }
  return best;
}

double exposed(std::int64_t count, double each, double interval, double wait) {
  if (count <= 0) return 0;
  // Reduction k of `count` is issued (count - k) intervals before the last one; the queue ends at the largest of
  // issue + remaining work, which is linear in k, so one of the ends.
  const double last_alone = each - wait;
  const double from_first = static_cast<double>(count) * each - static_cast<double>(count - 1) * interval - wait;
  return std::max({0.0, last_alone, from_first});
}

}  // namespace photonrail::analytic

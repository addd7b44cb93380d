#include "recommendation/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/units_text.h"

namespace photonrail::recommendation {
namespace {

constexpr int kPlannerRounds = 20;       // as HugeCTR's planner
constexpr double kPlannerWorkRatio = 4;  // its default: bytes of memory traffic per element over those of the wire

double weight_of(const Table& t) { return t.pooling * static_cast<double>(t.dim); }
double elements_of(const Table& t) { return static_cast<double>(t.rows) * static_cast<double>(t.dim); }

struct Piece {
  std::int32_t table = 0;
  double cost = 0;
  double bytes = 0;
};

// Places pieces, dearest first, each in the cheapest bucket that has room and not the same table yet.
class Buckets {
 public:
  Buckets(std::size_t count, double room) : cost_(count), bytes_(count), last_(count, -1), room_(room) {}

  // The bucket, or -1 where none has room.
  std::int32_t place(const Piece& piece) {
    std::size_t best = cost_.size();
    for (std::size_t b = 0; b < cost_.size(); ++b) {
      if (best < cost_.size() && cost_[b] >= cost_[best]) continue;
      if (room_ > 0 && bytes_[b] + piece.bytes > room_) continue;
      if (last_[b] == piece.table) continue;  // pieces of a table follow each other
      best = b;
    }
    if (best == cost_.size()) return -1;
    cost_[best] += piece.cost;
    bytes_[best] += piece.bytes;
    last_[best] = piece.table;
    return static_cast<std::int32_t>(best);
  }
  double largest_cost() const { return *std::max_element(cost_.begin(), cost_.end()); }

 private:
  std::vector<double> cost_, bytes_;
  std::vector<std::int32_t> last_;
  double room_;
};

// A shard of a bucket: the whole of it on one GPU, or its rows over the GPUs of a domain.
void add_bucket_shard(Plan& plan, std::int32_t table, std::int64_t bucket, double rows, double columns,
                      std::int64_t gpus_per_bucket) {
  for (std::int64_t i = 0; i < gpus_per_bucket; ++i) {
    plan.shards.push_back({table, static_cast<std::int32_t>(bucket * gpus_per_bucket + i),
                           rows / static_cast<double>(gpus_per_bucket), columns});
  }
}

struct Question {
  std::span<const Table> tables;
  std::vector<std::int32_t> sharded;
  std::size_t buckets = 1;
  std::int64_t gpus_per_bucket = 1;
  double room = 0;  // of a bucket
  const PlanLimits& limits;

  double bytes_of(std::int32_t t) const {
    return elements_of(tables[static_cast<std::size_t>(t)]) * limits.bytes_per_element;
  }
};

tl::unexpected<Error> no_room(const Question& q, std::int32_t table, double parts) {
  const auto text = [](double bytes) { return to_text(Bytes{static_cast<std::int64_t>(bytes)}); };
  return fail(ErrorCode::infeasible,
              fmt::format("table {} needs {} in {:.0f} parts, more than any GPU has left of {}\n  hint: more GPUs, a "
                          "finer sharding.spread, or a smaller embedding.weights",
                          table, text(q.bytes_of(table)), parts, text(q.room)));
}

// Every table in `columns` pieces (1: whole tables), each in the cheapest bucket.
Result<Plan> plan_whole(const Question& q, std::int64_t columns) {
  const double share = 1.0 / static_cast<double>(columns);
  std::vector<Piece> pieces;
  for (const std::int32_t t : q.sharded) {
    pieces.push_back({t, weight_of(q.tables[static_cast<std::size_t>(t)]) * share, q.bytes_of(t) * share});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.cost > b.cost; });
  Plan plan;
  Buckets buckets(q.buckets, q.room);
  for (const Piece& piece : pieces) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int32_t bucket = buckets.place(piece);
      if (bucket < 0) return no_room(q, piece.table, static_cast<double>(columns));
      add_bucket_shard(plan, piece.table, bucket, 1, share, q.gpus_per_bucket);
    }
  }
  return plan;
}

Plan plan_rows(const Question& q) {
  Plan plan;
  const auto n = static_cast<std::int64_t>(q.buckets);
  for (const std::int32_t t : q.sharded) {
    for (std::int64_t b = 0; b < n; ++b)
      add_bucket_shard(plan, t, b, 1.0 / static_cast<double>(n), 1, q.gpus_per_bucket);
  }
  return plan;
}

// One round of the planner: parts[t] shards of each sharded table. `full` names the table that found no room.
struct Round {
  Plan plan;
  double cost = 0;
  std::int32_t full = -1;
};
Round place_round(const Question& q, const std::vector<std::int64_t>& parts, double shard_cost) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < q.sharded.size(); ++i) {
    const std::int32_t t = q.sharded[i];
    const double share = 1.0 / static_cast<double>(parts[i]);
    const Table& table = q.tables[static_cast<std::size_t>(t)];
    const Piece piece{t, (table.pooling * share + shard_cost) * static_cast<double>(table.dim), q.bytes_of(t) * share};
    pieces.insert(pieces.end(), static_cast<std::size_t>(parts[i]), piece);
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.cost > b.cost; });
  std::vector<double> share_of(q.tables.size());
  for (std::size_t i = 0; i < q.sharded.size(); ++i) {
    share_of[static_cast<std::size_t>(q.sharded[i])] = 1.0 / static_cast<double>(parts[i]);
  }
  Round round;
  Buckets buckets(q.buckets, q.room);
  for (const Piece& piece : pieces) {
    const std::int32_t bucket = buckets.place(piece);
    if (bucket < 0) {
      round.full = piece.table;
      return round;
    }
    add_bucket_shard(round.plan, piece.table, bucket, share_of[static_cast<std::size_t>(piece.table)], 1,
                     q.gpus_per_bucket);
  }
  round.cost = buckets.largest_cost();
  return round;
}

// The position in `sharded` whose shards are hottest and can be halved; -1 where none can.
std::ptrdiff_t hottest(const Question& q, const std::vector<std::int64_t>& parts) {
  std::ptrdiff_t best = -1;
  double most = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double heat = weight_of(q.tables[static_cast<std::size_t>(q.sharded[i])]) / static_cast<double>(parts[i]);
    if (heat > most && parts[i] * 2 <= static_cast<std::int64_t>(q.buckets)) {
      most = heat;
      best = static_cast<std::ptrdiff_t>(i);
    }
  }
  return best;
}

Result<Plan> plan_automatically(const Question& q) {
  const double shard_cost = q.limits.memory_over_link / kPlannerWorkRatio;
  std::vector<std::int64_t> parts(q.sharded.size(), 1);
  Round best;
  bool found = false;
  for (int round = 0; round < kPlannerRounds; ++round) {
    Round now = place_round(q, parts, shard_cost);
    std::ptrdiff_t split = -1;
    if (now.full >= 0) {
      const auto at = std::find(q.sharded.begin(), q.sharded.end(), now.full) - q.sharded.begin();
      if (parts[static_cast<std::size_t>(at)] * 2 <= static_cast<std::int64_t>(q.buckets)) split = at;
    } else {
      if (!found || now.cost < best.cost) best = std::move(now);
      found = true;
      split = hottest(q, parts);
    }
    if (split < 0) break;
    parts[static_cast<std::size_t>(split)] *= 2;
  }
  if (found) return best.plan;
  return plan_rows(q);  // what the planner falls back to: every table over all buckets
}

}  // namespace

Result<Plan> make_plan(std::span<const Table> tables, const Sharding& sharding, std::int64_t gpus, std::int64_t domain,
                       const PlanLimits& limits) {
  PR_CHECK(gpus >= 1 && domain >= 1 && (gpus <= domain || gpus % domain == 0), "GPUs fill whole domains");
  const std::int64_t inside = std::min(gpus, domain);
  const bool by_domain = sharding.spread == Spread::hybrid ||
                         (sharding.spread == Spread::automatic && sharding.exchange == Exchange::hierarchical);
  Plan plan;
  Question q{tables, {}, static_cast<std::size_t>(by_domain ? gpus / inside : gpus), by_domain ? inside : 1, 0, limits};
  double replicated_bytes = 0;
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(tables.size()); ++t) {
    const bool everywhere = gpus > 1 && tables[static_cast<std::size_t>(t)].rows < sharding.replicate_below;
    (everywhere ? plan.replicated : q.sharded).push_back(t);
    if (everywhere) replicated_bytes += q.bytes_of(t);
  }
  if (limits.bucket_bytes > 0) {
    q.room = std::max(1.0, limits.bucket_bytes - replicated_bytes) * static_cast<double>(q.gpus_per_bucket);
  }
  if (q.sharded.empty()) return plan;
  Result<Plan> spread = sharding.spread == Spread::row ? Result<Plan>(plan_rows(q))
                        : sharding.spread == Spread::automatic
                            ? plan_automatically(q)
                            : plan_whole(q, sharding.spread == Spread::column ? sharding.columns : 1);
  if (!spread) return fail(std::move(spread.error()));
  plan.shards = std::move(spread->shards);
  return plan;
}

}  // namespace photonrail::recommendation

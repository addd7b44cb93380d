#include "recommendation/skew.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace photonrail::recommendation {
namespace {

constexpr double kExactRanks = 256;
constexpr double kBucketGrowth = 1.05;  // width of the buckets of ranks in distinct()

// Integral of x^-s.
double power_integral(double from, double to, double s) {
  if (std::abs(s - 1) < 1e-12) return std::log(to / from);
  return (std::pow(to, 1 - s) - std::pow(from, 1 - s)) / (1 - s);
}

double hit_probability(double p, double draws) {  // 1 - (1 - p)^draws
  return p >= 1 ? 1 : -std::expm1(draws * std::log1p(-p));
}

// Sets that are fixed by their first value: so many rows belong to so many first values.
double rows_of_sets(const Popularity& table, double firsts) {
  if (table.pooling <= 1) return firsts * table.pooling;
  return -table.rows * std::expm1(-firsts * table.pooling / table.rows);
}

double cached_rows(const Popularity& table, double ranks) {
  return table.sets == LookupSets::fixed ? rows_of_sets(table, ranks) : ranks;
}

}  // namespace

Zipf::Zipf(std::int64_t values, double exponent) : values_(static_cast<double>(values)), exponent_(exponent), norm_(1) {
  PR_CHECK(values >= 1 && exponent >= 0, "a Zipf law needs values and a non-negative exponent");
  norm_ = power_sum(values_);
}

double Zipf::power_sum(double ranks) const {
  double sum = 0;
  const double exact = std::min(ranks, kExactRanks);
  for (double i = 1; i <= exact; ++i) sum += std::pow(i, -exponent_);
  const double rest = exact - std::floor(exact);  // a part of the next rank
  if (ranks <= kExactRanks) return sum + rest * std::pow(std::floor(exact) + 1, -exponent_);
  return sum + power_integral(kExactRanks + 0.5, ranks + 0.5, exponent_);
}

double Zipf::probability(double rank) const { return std::pow(rank, -exponent_) / norm_; }

double Zipf::mass(double ranks) const {
  return std::clamp(power_sum(std::clamp(ranks, 0.0, values_)) / norm_, 0.0, 1.0);
}

double Zipf::distinct(double lookups, double ranks) const {
  double sum = 0;
  const double last = std::floor(std::min(values_, ranks));
  const double exact = std::min(last, kExactRanks);
  for (double i = 1; i <= exact; ++i) sum += hit_probability(probability(i), lookups);
  for (double from = exact; from < last;) {
    const double to = std::min(last, std::floor(from * kBucketGrowth));
    sum += (to - from) * hit_probability(probability(std::sqrt((from + 0.5) * (to + 0.5))), lookups);
    from = to;
  }
  return std::min(sum, lookups);
}

double Zipf::ranks_above(double probability) const {
  if (exponent_ == 0) return probability <= 1 / norm_ ? values_ : 0;
  const double rank = std::pow(probability * norm_, -1 / exponent_);
  return rank < 1 ? 0 : std::min(rank, values_);
}

double distinct_rows(const Popularity& table, double samples) { return distinct_rows(table, samples, table.rows); }

double distinct_rows(const Popularity& table, double samples, double ranks) {
  const Zipf zipf(static_cast<std::int64_t>(table.rows), table.exponent);
  if (table.sets == LookupSets::independent) return zipf.distinct(samples * table.pooling, ranks);
  return std::min(rows_of_sets(table, zipf.distinct(samples, ranks)), samples * table.pooling);
}

std::vector<Cached> cache_hits(std::span<const CachedTable> tables, double cache_bytes) {
  std::vector<Zipf> laws;
  for (const CachedTable& t : tables) {
    laws.emplace_back(static_cast<std::int64_t>(t.popularity.rows), t.popularity.exponent);
  }
  const auto bytes_at = [&](double threshold) {
    double bytes = 0;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      bytes +=
          tables[i].weight * tables[i].row_bytes * cached_rows(tables[i].popularity, laws[i].ranks_above(threshold));
    }
    return bytes;
  };
  // The popularity from which rows are kept: bisected in its logarithm between "all" and "none".
  double all = std::log(1e-15), none = 0.1;
  std::vector<Cached> kept;
  if (bytes_at(std::exp(all)) <= cache_bytes) {
    for (const CachedTable& t : tables) kept.push_back({1, t.popularity.rows});
    return kept;
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (all + none);
    (bytes_at(std::exp(middle)) <= cache_bytes ? none : all) = middle;
  }
  // Equally popular rows enter together; of those only a part fits.
  const double fits = bytes_at(std::exp(none)), next = bytes_at(std::exp(all));
  const double part = next > fits ? std::clamp((cache_bytes - fits) / (next - fits), 0.0, 1.0) : 0.0;
  for (const Zipf& law : laws) {
    const double low = law.ranks_above(std::exp(none)), high = law.ranks_above(std::exp(all));
    const double low_mass = law.mass(low), high_mass = law.mass(high);
    kept.push_back({low_mass + part * (high_mass - low_mass), low + part * (high - low)});
  }
  return kept;
}

}  // namespace photonrail::recommendation

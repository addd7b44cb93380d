// How often rows of an embedding table are looked up, and what a cache of the hot rows saves.
//
// Theory: the i-th most popular of N values is looked up with probability p_i = i^-s / H, H = sum over i of i^-s
// (Zipf). s = 0 is uniform. Of B lookups, sum over i of 1 - (1 - p_i)^B are of distinct values. Sums over ranks are
// exact up to rank 256 and integrals (midpoint rule for the sum) beyond; the relative error is below 1e-4 for s <= 3.
//
// Lookups of a pooled feature come in one of two ways (LookupSets): each is a draw of its own, or the value drawn
// first fixes the whole set of `pooling` rows, as in the multi-hot data set of MLPerf DLRM-DCNv2, which was made from a
// one-hot one that way.
//
// A cache holds the most popular rows: what least-recently-used converges to (Che, Tung, Wang, IEEE JSAC 2002, for
// caches of many entries). Plain values; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace photonrail::recommendation {

class Zipf {
 public:
  // values >= 1, exponent >= 0.
  Zipf(std::int64_t values, double exponent);

  double values() const { return values_; }
  double probability(double rank) const;  // of the rank-th most popular, from 1
  double mass(double ranks) const;        // of the `ranks` most popular together; 1 for all
  double distinct(double lookups) const { return distinct(lookups, values_); }  // expected, among so many draws
  double distinct(double lookups, double ranks) const;  // of those that are of the `ranks` most popular values
  double ranks_above(double probability) const;         // how many values are at least so likely

 private:
  double power_sum(double ranks) const;  // sum of i^-s up to `ranks`

  double values_;
  double exponent_;
  double norm_;
};

enum class LookupSets : std::uint8_t { fixed, independent };

// Lookups of one table.
struct Popularity {
  double rows = 1;
  double pooling = 1;  // rows looked up for one sample
  double exponent = 0;
  LookupSets sets = LookupSets::fixed;
};

// Distinct rows that `samples` samples touch; with `ranks`, only rows of that many most popular values.
double distinct_rows(const Popularity& table, double samples);
double distinct_rows(const Popularity& table, double samples, double ranks);

struct CachedTable {
  Popularity popularity;
  double row_bytes = 0;
  double weight = 1;  // rows that are here, over those of one table: less than 1 for shards, more for equal tables
};
struct Cached {
  double hits = 0;   // share of the lookups that the cache serves
  double ranks = 0;  // how many of the most popular values it holds
};
// For each table, what a cache of so many bytes for all of them keeps.
std::vector<Cached> cache_hits(std::span<const CachedTable> tables, double cache_bytes);

}  // namespace photonrail::recommendation

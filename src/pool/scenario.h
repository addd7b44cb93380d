// PoolScenario: a photonic memory system and the reads that somebody models on it. The input of `photonrail check`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/document.h"
#include "pool/capacity_graph.h"

namespace photonrail::pool {

enum class Origin : std::uint8_t { pool, own_memory };

// One object that accelerators read again and again: weights, caches, embedding tables.
struct Reads {  // [[reads]]
  std::string name;
  std::optional<Rate> rate;  // of each reader, as modelled; absent: only what is possible is asked
  std::int64_t readers = 0;  // 0: all accelerators
  Origin from = Origin::pool;
  Spread spread = Spread::appliance;
  std::optional<double> hit_rate;  // absent: the part that the HBM tier can hold
  std::optional<Bytes> size;       // stored once
  std::optional<Bytes> each;       // what one reader reads of it in a pass; absent: all
  std::optional<Bytes> pinned;     // what must lie in the HBM tiers for the hits; absent: hit_rate of the size

  std::optional<Bytes> of_each() const { return each ? each : size; }
};

struct PoolScenario {
  std::string name;
  bool as_published = false;  // broken cuts are let pass, and said in every result
  System system;
  std::vector<Reads> reads;
};

void describe(config::Fields& fields, Reads& reads);
void describe(config::Fields& fields, PoolScenario& scenario);
std::span<const config::EnumName<Origin>> names_of(Origin);
std::span<const config::EnumName<Spread>> names_of(Spread);

using PoolDocument = config::Document<PoolScenario>;

// Errors: io; invalid_input with every mistake at its place.
Result<PoolDocument> load_pool(const std::string& path, std::span<const std::string> sets = {});
Result<PoolDocument> parse_pool(std::string_view text, std::string_view name, std::span<const std::string> sets = {});

}  // namespace photonrail::pool

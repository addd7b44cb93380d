// Is what somebody models on a pool physically possible?
//
// Every modelled rate must be carried by the smallest cut of the declared topology, all reads at once, and be kept up
// by the bytes that an accelerator has in flight (reader_rate.h); every object must fit the memory that it lies in.
// What is broken is named with its figures. `as_published` lets it pass, and the result says so.
#pragma once

#include <string>
#include <vector>

#include "pool/reader_rate.h"
#include "pool/scenario.h"
#include "sensitivity/declarations.h"
#include "sensitivity/experiment.h"

namespace photonrail::pool {

// Something modelled that a part cannot do. Rates in bytes/s, sizes in bytes.
struct Violation {
  std::string what;   // "weights"; several, joined, where a cut breaks under their sum
  std::string limit;  // "optical port (1 x 7.2 Tb/s)"
  double modelled = 0;
  double possible = 0;
  std::string unit;  // "B/s" or "B"
  double factor() const { return modelled / possible; }
};

struct ReadsResult {  // of one reader; rates in bytes/s
  Reads reads;
  std::int64_t readers = 0;
  double hit_rate = 1;
  std::string hit_rate_source;
  double latency = 0;      // seconds, mean of a load
  double cut_share = 0;    // max-min fair share of the links, with all reads of the scenario at once
  double concurrency = 0;  // bytes in flight / latency
  double possible = 0;     // the smaller
  double added_times = 0;  // this read alone, hits and misses one after the other
  double in_flight = 0;    // bytes needed for the modelled rate; 0 where none is modelled
  std::string limit;       // what bounds `possible`
};

struct LinkSummary {  // links of one kind and rate
  Part part = Part::port;
  std::size_t count = 0;
  double capacity = 0;  // bytes/s of one
  double load = 0;      // bytes/s of the fullest, under the modelled rates
};

struct CapacitySummary {
  std::string where;  // "HBM tiers", "DDR tiers", "own memory of each"
  double size = 0;    // bytes
  double stored = 0;
};

struct PoolCheck {
  Resolved pool;
  bool as_published = false;
  std::vector<ReadsResult> reads;
  std::vector<LinkSummary> links;
  std::vector<CapacitySummary> capacity;
  std::vector<Violation> violations;  // the worst of all rates first, sizes after them
};

Result<PoolCheck> check_pool(const PoolScenario& scenario, const catalog::Catalog& catalog);

// One line a violation, for messages.
std::string violation_text(const Violation& violation);

// What `photonrail sensitivity check` varies; metrics "<reads>.possible", "<reads>.overload", ...
Result<std::vector<sensitivity::Metric>> evaluate_check(const std::string& file, const std::vector<std::string>& sets,
                                                        const catalog::Catalog& catalog,
                                                        sensitivity::Declarations& said);

}  // namespace photonrail::pool

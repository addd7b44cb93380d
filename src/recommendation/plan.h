// How tables are spread over GPUs.
//
// Theory. A shard holds a share of the rows (whole rows, hashed) and of the columns of one table. For every sample of
// the global batch it looks up pooling * rows-share rows and gives one partial sum as wide as its columns, so:
//   table-wise   one shard; B D w bytes leave its GPU
//   row-wise     n shards of 1/n of the rows; every one sends a partial sum of full width: n B D w in all
//   column-wise  c shards of D/c columns; B D w in all, and narrower rows
//   hybrid       a table to one domain of g GPUs, rows over them; partial sums are added inside before they leave
// (TorchRec sharding types, Ivchenko et al., RecSys 2022). `automatic` is the planner of HugeCTR's MLPerf submissions:
// the cost of a bucket is its pooling factor plus, for each of its shards, (memory rate / link rate) / 4; shards go
// to the cheapest bucket in order of pooling factor, the hottest shard is halved, twenty times, and the cheapest plan
// wins. Its buckets are GPUs, or with a hierarchical exchange domains whose GPUs share the rows.
//
// Deterministic: ties go to the lower index. Plain values; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "recommendation/scenario.h"

namespace photonrail::recommendation {

struct Shard {
  std::int32_t table = 0;  // index of an expanded table
  std::int32_t gpu = 0;
  double rows = 1;     // share
  double columns = 1;  // share
};

struct Plan {
  std::vector<std::int32_t> replicated;  // tables that every GPU holds
  std::vector<Shard> shards;
};

struct PlanLimits {
  double memory_over_link = 7.4;  // rate of memory over that of the links between buckets
  double bytes_per_element = 8;   // of a table: weight and optimizer state
  double bucket_bytes = 0;        // capacity of one GPU for tables; 0: no limit
};

// gpus is a multiple of domain, or not above it. Error: infeasible where a table fits no bucket.
Result<Plan> make_plan(std::span<const Table> tables, const Sharding& sharding, std::int64_t gpus, std::int64_t domain,
                       const PlanLimits& limits);

}  // namespace photonrail::recommendation

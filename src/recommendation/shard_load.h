// What each GPU has to do for one sample of the global batch, under a plan.
#pragma once

#include <vector>

#include "recommendation/access.h"
#include "recommendation/step.h"

namespace photonrail::recommendation {

// Tables that are alike share everything that depends on popularity.
struct TableKind {
  Popularity popularity;
  double dim = 0;
  double row_bytes = 0;
  double sharded = 0;  // tables of the kind
  double replicated = 0;
  double hit = 0;        // share of lookups served by cache or hot rows; of hot rows beside host memory, the mean
  double hot_ranks = 0;  // most popular values that are kept there
};

struct Load {
  double lookups = 0;      // rows, of one sample
  double elements = 0;     // of them
  double row_seconds = 0;  // to read them
  double hits = 0;         // of the lookups
  double partial = 0;      // elements of partial sums, of one sample
  double table_bytes = 0;  // with optimizer state
  double updates = 0;      // distinct rows of one step
  double update_elements = 0;
  double update_seconds = 0;  // to read and write weights and state of the distinct rows
};

struct Loads {
  std::vector<TableKind> kinds;
  std::vector<Load> gpus;          // of sharded tables; for a pool one entry: any GPU
  Load largest;                    // each field the largest of any GPU
  Load sum;                        // over GPUs
  Load replicated;                 // of replicated tables, on every GPU, for one sample of its own
  double replicated_elements = 0;  // of these tables
  double sharded_width = 0;        // elements of all pooled vectors of sharded tables
  double replicated_width = 0;
  std::vector<double> domain_partial;  // elements of partial sums that leave a domain, after it has added its own
};

// `samples`: whose distinct rows are updated at once (0: none are).
Loads loads_of(const Setup& setup, Store store, const Plan& plan, double samples);

// Bytes of optimizer state of one element of a table; none in inference.
double state_bytes(const Step& step, double dim);

}  // namespace photonrail::recommendation

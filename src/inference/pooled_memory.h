// The memory that a photonic pool gives one GPU, where [memory] names a pool.
//
// Theory. The pool stores the weights once and the caches of all sharers, requests at their longest. Its HBM tiers hold
// H bytes of the W + C that are stored. Without a stated hit rate they hold a fixed part of everything: h = min(1, H /
// (W + C)). A stated one needs its bytes there; weights, which every replica reads, are kept there first: of the bytes
// w + c that one GPU reads in a pass, h (w + c) are hits, the first w of them need W, the others their part of C.
#pragma once

#include <vector>

#include "base/result.h"
#include "inference/metrics.h"
#include "inference/scenario.h"
#include "pool/scenario.h"

namespace photonrail::inference {

// What a configuration stores in a memory that `sharers` GPUs share, and what one GPU reads in a pass. Bytes.
struct Stored {
  double weights = 0;  // once
  double caches = 0;   // of all sharers
  double read_weights = 0;
  double read_cache = 0;
  double all() const { return weights + caches; }
  double read() const { return read_weights + read_cache; }
};
Stored stored_of(const Plan& plan, const RequestShape& request, double batch, double sharers, double weights);

// Bytes that must lie in the HBM tiers for a hit rate, weights first; and the largest hit rate that `hbm` bytes allow.
double pinned_for(const Stored& stored, double hit_rate);
double largest_hit_rate(const Stored& stored, double hbm);

struct PoolUse {
  Stored stored;
  double hbm = 0;
  double hit_rate = 0;
  double pinned = 0;
  bool fits = true;  // the stated hit rate, in the HBM tiers
  pool::EffectiveRate rate;
};

// Of a deployment that has a pool. Errors: those of compile; infeasible where the pool has no room for the sharers.
Result<PoolUse> pool_use(const Deployment& setup, const Candidate& candidate);

// Fills in setup.pool from [memory] pool; nothing where no pool is named. Errors: io and invalid_input of its file.
Status find_pool(Deployment& setup, const catalog::Catalog& catalog);

// Gives setup the rate that the candidate gets from its pool, and the capacity of its share where none is stated.
Status use_pool(Deployment& setup, const Candidate& candidate);

// Error: infeasible where the stated hit rate needs more bytes than the HBM tiers have, unless as_published.
Status check_hit_rate(const Deployment& setup, const Candidate& candidate);

// The scenario's memory as one object that `photonrail check` holds against a pool: weights once, caches of all.
// Where [memory] states no rate, as what each GPU has in its own memory.
Result<pool::Reads> memory_reads(const Deployment& setup);

// Path of the pool's file as the operating system takes it: one from the scenario's file is relative to that file.
std::string pool_path(const InferenceDocument& doc);

}  // namespace photonrail::inference

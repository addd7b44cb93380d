// Time, memory and work of one step of a recommendation model (DLRM, DCNv2).
//
// Theory. For B samples on n GPUs (b = B / n), tables t with P_t lookups and rows of D_t elements of w_t bytes:
//   bytes looked up        B sum_t P_t D_t w_t                                  (photonic fabric paper, section 7)
//   partial sums sent      B sum over shards of columns D_t v, v the bytes of the wire format (plan.h)
// Rows come at the rate of access.h; lookups that repeat inside the on-chip cache come from there (skew.h).
//
// One step, training:
//   launch, gather rows, [exchange of partial sums | bottom layers, replicated tables], add partial sums,
//   interaction, top layers and their backward pass, [exchange of gradients | bottom layers backward, replicated
//   tables], group equal rows, add their gradients, [update rows | all-reduce of dense gradients], update dense
//   weights.
// What stands in brackets overlaps: the longer counts. Keys are exchanged and copied from the host during the step
// before; they bound the step from below, as the host link does. All else runs one after the other on one GPU, so its
// times add. An evaluation inside the measured time adds e T_forward(B_e) B / B_e: e samples for each one trained,
// B_e at a time. Inference is the forward half.
//
// Row update (training): U distinct rows (skew.h); each lookup reads the gradient of its pooled vector, each distinct
// row writes and reads its sum (4 bytes an element) and reads and writes weights and optimizer state.
// Dense layers: products forward, with respect to inputs, and to weights; DCNv2 layer x' = x0 * (V U x + b) + x moves 4
// activations forward and 7 backward, concatenation 2 and 2. Biases and rectifiers ride in the products' epilogues.
//
// Stores: nvlink and pcie shard the tables; a pool is read by every GPU directly, which leaves no exchange and no
// shards.
//
// Units: seconds, bytes. Pure functions; any thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "energy/power.h"
#include "recommendation/access.h"
#include "recommendation/machine.h"
#include "recommendation/plan.h"
#include "recommendation/scenario.h"

namespace photonrail::recommendation {

enum class Resource : std::uint8_t { rows, memory, compute, links, host };
const char* name_of(Resource resource);

struct Part {
  std::string name;
  Resource resource = Resource::memory;
  double seconds = 0;  // of itself
  double exposed = 0;  // what it adds to the step
  operators::Basis basis = operators::Basis::measured;
};

struct Memory {       // bytes of the fullest GPU
  double tables = 0;  // where the store is device memory
  double replicated = 0;
  double hot_rows = 0;
  double dense = 0;  // weights, gradients, optimizer state
  double activations = 0;
  double workspace = 0;
  double capacity = 0;
  double store_tables = 0;  // outside device memory: per GPU (pcie) or in all (pool)
  double store_capacity = 0;
  double device() const { return tables + replicated + hot_rows + dense + activations + workspace; }
};

struct Outcome {
  Store store = Store::nvlink;
  std::vector<Part> parts;
  double step = 0;
  double pooling = 0;  // keys, rows, exchange and sums of the forward pass alone, nothing overlapped
  double samples_per_second = 0;
  double evaluation = 0;  // seconds of evaluation that the step carries
  double row_rate = 0;    // bytes/s that rows of the mean width come at, per GPU
  std::string row_limit;  // what bounds it
  double looked_up = 0;   // bytes of rows, all GPUs
  double sent = 0;        // bytes that the busiest GPU sends forward
  double distinct = 0;    // share of lookups that are of distinct rows of the batch
  double cache_hits = 0;  // share of lookups served by cache or hot rows
  double imbalance = 1;   // lookups of the busiest GPU over the mean
  Memory memory;
  energy::Activity activity;  // of one GPU, on average
  operators::Basis basis = operators::Basis::measured;
  std::vector<std::string> overrides;  // as_published
  Resource bound_by() const;
};

struct RowPath {
  RowMemory memory;
  std::string limit;                   // what bounds its rate
  std::vector<std::string> overrides;  // as_published
};

// A scenario with what the catalog knows of its GPU.
struct Setup {
  Scenario scenario;
  std::vector<Table> tables;  // expanded
  catalog::Gpu gpu;
  std::int64_t domain = 8;
  double memory_rate = 0;  // bytes/s
  double memory_bytes = 0;
  double scale_up = 0;
  double network = 0;
  double cache_bytes = 0;
  std::string cache_source;
  RowPath pool;
  double pool_capacity = 0;  // bytes
};
// Error: invalid_input where the catalog lacks a figure.
Result<Setup> make_setup(const Scenario& scenario, const catalog::Catalog& catalog);

RowPath row_path(const Setup& setup, Store store);

// Errors: infeasible where tables or activations do not fit, with the shortfall.
Result<Outcome> evaluate(const Setup& setup, Store store, const Machine& machine);

}  // namespace photonrail::recommendation

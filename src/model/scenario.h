// Scenario: the whole question that a user asks, as plain data. Text forms, ranges, defaults and documentation of every
// field are in scenario_describe.h; one from scenario_text.h is checked, but for what its catalog entries bring.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/task_graph.h"

namespace photonrail::model {

// A length of time with its uncertainty, sampled from a named random stream.
struct Distribution {
  enum class Shape : std::uint8_t { constant, uniform, normal, lognormal } shape = Shape::constant;
  Time typical;        // constant: the value; uniform: the low end; normal: the mean; lognormal: the median
  Time high;           // uniform: the high end
  double spread = 0;   // normal: deviation / mean; lognormal: sigma of the logarithm
  std::string source;  // where the figure comes from
};

struct TransformerModel {          // [model]
  std::string catalog;             // name of a catalog model; fields below override it
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t feed_forward = 0;
  std::int64_t feed_forward_matrices = 3;  // 3: gated (SwiGLU); 2: plain
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;      // 0: hidden / heads
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
};

enum class Schedule : std::uint8_t { gpipe, one_f_one_b };
enum class Sharding : std::uint8_t { zero0, zero1, zero2, zero3 };  // zero3 is FSDP
enum class Recompute : std::uint8_t { none, selective, full };
enum class Precision : std::uint8_t { fp32, bf16, fp8 };

struct Training {                  // [training]
  std::int64_t sequence = 4096;
  std::int64_t global_batch = 0;   // sequences per step, all data-parallel ranks together
  std::int64_t microbatches = 1;   // per pipeline and step
  Schedule schedule = Schedule::one_f_one_b;
  Sharding sharding = Sharding::zero0;
  bool reshard_after_forward = true;   // zero3: gather weights again for the backward pass of every microbatch
  Recompute recompute = Recompute::none;
  Precision precision = Precision::bf16;
  Precision gradient_precision = Precision::bf16;  // of gradients on the wire
  bool sequence_parallel = true;
  bool overlap_gradients = true;   // data-parallel reductions start in the backward pass of the last microbatch
  bool post_receives_early = false;  // pipeline receives are posted one schedule step ahead
};

struct Parallelism {               // [parallelism]
  std::int64_t data = 1;
  std::int64_t pipeline = 1;
  std::int64_t tensor = 1;
};

struct Cluster {                   // [cluster]
  std::int64_t gpus = 0;
  std::string gpu = "H200";        // catalog name
  std::int64_t domain = 8;         // GPUs in one scale-up domain; local index = rail
  double matmul_efficiency = 1.0;  // of peak FLOP/s, for matrix products
  double memory_efficiency = 1.0;  // of peak memory bandwidth
};

struct ScaleUp {                   // [scale_up]
  Rate rate = gigabytes_per_second(450);  // per GPU and direction
  Time latency = nanoseconds(500);        // one step between two GPUs
};

struct Rail {                      // [rail]
  std::int64_t ports = 4;          // duplex optical ports per GPU
  Rate port_rate = gigabits_per_second(100);  // per port and direction
  Time latency = nanoseconds(1000);           // one step between neighbours: NIC to NIC, fibre included
};

struct Switching {                 // [switching]: time of one switch, term by term
  std::string ocs = "polatis-6000n";   // catalog name; its dark, settle terms are used unless `times` is given
  std::vector<Time> times;             // sweep: each replaces dark + settle + link_up + relock
  Distribution request;                // shim to controller and back
  Distribution controller;             // decision
  Distribution command;                // device command accepted
  std::optional<Distribution> dark;    // absent: from the catalog's OCS
  std::optional<Distribution> settle;
  Distribution link_up;
  Distribution relock;
};

enum class Policy : std::uint8_t { static_proportional, static_sqrt, on_demand, provisioned, oracle };
enum class Fabric : std::uint8_t { rail_optimised, fat_tree, rail_only };
enum class LoadBalance : std::uint8_t { ideal, ecmp };

// naive_lock deadlocks on programs whose phases overlap; it exists to show that.
enum class Admission : std::uint8_t { gang, naive_lock };

struct Control {                   // [control]
  Admission admission = Admission::gang;
  std::vector<Policy> policies;    // photonic policies to run
};

struct Electrical {                // [electrical]
  std::vector<Fabric> fabrics;     // electrical fabrics to run
  std::string network_switch = "quantum-2-qm9700";  // catalog name; its radix shapes the fabric
  double oversubscription = 1.0;   // down : up at the leaves, 2.0 is 2:1
  LoadBalance load_balance = LoadBalance::ideal;
  Rate nic_rate = gigabytes_per_second(50);   // per GPU and direction
  Time hop_latency = nanoseconds(600);        // per switch crossed, on top of rail.latency
};

enum class CostMode : std::uint8_t { as_published, real };

struct CostOptions {               // [cost]
  CostMode mode = CostMode::real;
  std::string transceiver = "";    // catalog name; "" picks by port rate
  std::int64_t duplex_ports_per_gpu = 0;  // 0: rail.ports
  bool include_nics = false;
  bool include_fibre = true;
  double spare_ports = 0.0;        // share of OCS ports kept as spares
  Dollars fibre_price = {20};      // per duplex jumper
  Power gpu_power = {0};           // 0: catalog TDP, for energy per step
};

struct Workload {                  // [workload]: an imported trace instead of the generator
  std::string trace;               // directory or archive; "" means: generate from [model], [training], [parallelism]
  std::string group_file;          // communicator groups; "": the one beside the traces
  double bytes_per_unit = 1.0;     // what one unit of comm_size and tensor_size is; 2.0 where they count bf16 elements
  bool multiply_accumulates = true;  // num_ops counts multiply-accumulates (two operations each), as STAGE does
  std::map<std::string, Dimension> dimensions;  // group id -> dimension, where what the importer infers is wrong
};

struct Scenario {
  std::string name;
  std::uint64_t seed = 1;
  std::string baseline = "rail_optimised";  // case that overheads are measured against
  std::int64_t profile_iterations = 1;      // iterations that `provisioned` learns from before the measured one
  Workload workload;
  TransformerModel model;
  Training training;
  Parallelism parallelism;
  Cluster cluster;
  ScaleUp scale_up;
  Rail rail;
  Switching switching;
  Control control;
  Electrical electrical;
  CostOptions cost;
};

}  // namespace photonrail::model

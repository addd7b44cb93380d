// A recommendation model, the machine that it runs on, and how its tables are spread: the input of `photonrail dlrm`.
//
// Defaults are the MLPerf DLRM-DCNv2 benchmark on eight H100. Every constant that is not a property of the model or of
// a catalog GPU has its range and source in report.cc, and is printed with the result. Plain values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "catalog/catalog.h"
#include "config/document.h"
#include "pool/system.h"
#include "recommendation/skew.h"

namespace photonrail::recommendation {

enum class Format : std::uint8_t { fp32, fp16, int8 };
constexpr double bytes_of(Format format) { return format == Format::fp32 ? 4 : format == Format::fp16 ? 2 : 1; }

struct Table {  // [[embedding.table]]
  std::int64_t rows = 0;
  std::int64_t dim = 128;
  double pooling = 1;      // rows that one sample looks up and sums
  std::int64_t count = 1;  // this many tables of the kind
};

enum class Preset : std::uint8_t { none, dlrm_dcnv2 };

struct Embedding {  // [embedding]
  Preset preset = Preset::none;
  std::vector<Table> table;
  Format weights = Format::fp32;
  Format wire = Format::fp16;  // pooled vectors and their gradients
  double skew = 1.05;          // Zipf exponent
  LookupSets lookups = LookupSets::fixed;
};

enum class Interaction : std::uint8_t { cross, dot, none };

struct Dense {  // [dense]
  std::int64_t features = 13;
  std::vector<std::int64_t> bottom = {512, 256, 128};
  Interaction interaction = Interaction::cross;
  std::int64_t cross_layers = 3;
  std::int64_t cross_rank = 512;
  std::vector<std::int64_t> top = {1024, 1024, 512, 256, 1};
  Format precision = Format::fp16;
};

enum class Phase : std::uint8_t { training, inference };
enum class Optimizer : std::uint8_t { adagrad, rowwise_adagrad, sgd };

struct Step {  // [step]
  Phase phase = Phase::training;
  std::int64_t batch = 55'296;  // samples of all GPUs
  Optimizer optimizer = Optimizer::adagrad;
  double evaluation = 0;  // samples evaluated for each one trained, inside the measured time
  std::int64_t evaluation_batch = 1 << 20;
};

struct Cluster {  // [cluster]
  std::string gpu = "H100";
  std::int64_t gpus = 8;
  std::optional<std::int64_t> domain;  // GPUs joined by NVLink; absent: the GPU's own
  std::optional<Rate> network_rate;    // NIC per GPU; absent: the GPU's own
};

// How tables are spread over GPUs. table: each table on one GPU. row: the rows of each over all GPUs. column: the
// columns of each over `columns` GPUs. hybrid: a table to a domain, its rows over the GPUs of the domain (TorchRec
// table-row-wise). automatic: the greedy planner that HugeCTR uses, hottest shards split until the load is even.
enum class Spread : std::uint8_t { table, row, column, hybrid, automatic };
enum class Exchange : std::uint8_t { flat, hierarchical };

struct Sharding {  // [sharding]
  Spread spread = Spread::automatic;
  std::int64_t columns = 2;
  std::int64_t replicate_below = 0;    // tables of fewer rows are on every GPU
  Exchange exchange = Exchange::flat;  // hierarchical: partial sums are added inside the domain first
};

// Reading rows at random from a memory. See access.h for the theory.
struct Access {                     // [access]
  double stream_efficiency = 0.90;  // of the peak rate, for whole pages
  Bytes row_overhead = {64};        // bus time that a row costs beside its bytes
  Bytes transaction = {32};
  std::optional<Bytes> outstanding;  // bytes in flight; absent: 2.0 MB scaled with the memory rate of an H100
  Time latency = nanoseconds(600);
  std::optional<Bytes> cache;  // on-chip cache of the GPU; absent: by the GPU's name
  double cache_share = 0.5;    // of it that keeps hot rows
  double cache_speedup = 1.7;  // its read rate over that of memory
};

struct Host {                            // [host]: rows in host memory, read over PCIe
  Rate rate = gigabytes_per_second(52);  // per GPU
  Time latency = nanoseconds(1'500);
  Bytes outstanding = {256 * 1024};
  Bytes capacity = {250'000'000'000};  // per GPU
  Bytes packet_overhead = {24};        // per `packet` bytes
  Bytes packet = {128};
  Bytes hot_rows = {40'000'000'000};  // device memory of each GPU that keeps hot rows
};

inline constexpr std::int64_t kSharers = 16;  // GPUs of one appliance

// Rows in a photonic memory pool that every GPU reads directly.
struct Pool {  // [pool]
  pool::Module module;
  pool::Appliance appliance;
  pool::Tier tier;
  std::int64_t ports = 1;                 // of the pool, per GPU
  std::optional<std::int64_t> sharers;    // GPUs that read at once; absent: kSharers, or all of a smaller cluster
  Bytes hot_rows = {0};                   // device memory of each GPU that keeps hot rows
  std::optional<Rate> as_published_rate;  // per GPU; takes the place of every cut; printed as an override
};

struct Overheads {                       // [overheads]
  Time step = microseconds(20);          // launch of the step's graph by the host
  std::int64_t embedding_kernels = 40;   // of one pass over sharded tables: forward, or backward with the update
  std::int64_t replicated_kernels = 12;  // of one pass over replicated tables
  double sort_bytes_per_key = 96;        // moved to group the lookups of equal rows before an update
  Bytes workspace = {3'758'096'384};     // 3.5 GiB per GPU: runtime, NCCL, libraries
};

enum class Store : std::uint8_t { nvlink, pcie, pool };

struct Scenario {
  std::string name = "dlrm";
  Embedding embedding;
  Dense dense;
  Step step;
  Cluster cluster;
  Sharding sharding;
  Access access;
  Host host;
  Pool pool;
  Overheads overheads;
  std::vector<Store> compare = {Store::nvlink, Store::pcie, Store::pool};
};

void describe(config::Fields& fields, Table& table);
void describe(config::Fields& fields, Embedding& embedding);
void describe(config::Fields& fields, Dense& dense);
void describe(config::Fields& fields, Step& step);
void describe(config::Fields& fields, Cluster& cluster);
void describe(config::Fields& fields, Sharding& sharding);
void describe(config::Fields& fields, Access& access);
void describe(config::Fields& fields, Host& host);
void describe(config::Fields& fields, Pool& pool);
void describe(config::Fields& fields, Overheads& overheads);
void describe(config::Fields& fields, Scenario& scenario);
std::span<const config::EnumName<Format>> names_of(Format);
std::span<const config::EnumName<Preset>> names_of(Preset);
std::span<const config::EnumName<LookupSets>> names_of(LookupSets);
std::span<const config::EnumName<Interaction>> names_of(Interaction);
std::span<const config::EnumName<Phase>> names_of(Phase);
std::span<const config::EnumName<Optimizer>> names_of(Optimizer);
std::span<const config::EnumName<Spread>> names_of(Spread);
std::span<const config::EnumName<Exchange>> names_of(Exchange);
std::span<const config::EnumName<Store>> names_of(Store);

// The file with "a.b=c" texts over it; "": defaults alone. A preset's tables are filled in. Refused: no tables, an
// unknown GPU, a batch that GPUs cannot share evenly, dot products of unequal widths, more than 65,536 tables.
Result<config::Document<Scenario>> load_scenario(const std::string& file, const std::vector<std::string>& sets,
                                                 const catalog::Catalog& catalog);

// The 26 tables of MLPerf DLRM-DCNv2 (Criteo 1TB, at most 40 M rows each, multi-hot): rows and pooling factors of the
// reference's data set.
std::vector<Table> dlrm_dcnv2_tables();

// One entry per table.
std::vector<Table> expanded(const std::vector<Table>& tables);

}  // namespace photonrail::recommendation

#include "recommendation/scenario.h"

#include <fmt/format.h>

#include <algorithm>

namespace photonrail::recommendation {
namespace {

using config::EnumName;
using config::Fields;

// Guards against slips of the keyboard, far above any machine or model that exists.
constexpr double kRowsMax = 1e13;
constexpr double kGpusMax = 1 << 16;
constexpr std::int64_t kTablesMax = 1 << 16;
constexpr std::int64_t kShardsMax = 1 << 24;

using Document = config::Document<Scenario>;

void refuse(Document& doc, std::string_view path, std::string what, std::string hint) {
  doc.diagnostics.error(doc.span(path), std::move(what), std::move(hint));
}

void check_tables(Document& doc) {
  const Scenario& s = doc.value;
  std::int64_t tables = 0;
  for (const Table& t : s.embedding.table) tables += t.count;
  if (tables == 0) {
    refuse(doc, "embedding.table", "the model has no embedding tables",
           "add [[embedding.table]] with rows, or embedding.preset = \"dlrm_dcnv2\"");
  } else if (tables > kTablesMax || tables * s.cluster.gpus > kShardsMax) {
    refuse(doc, "embedding.table", fmt::format("{} tables on {} GPUs are too many", tables, s.cluster.gpus),
           fmt::format("at most {} tables, and {} tables times GPUs", kTablesMax, kShardsMax));
  }
}

void check_compare(Document& doc) {
  const std::vector<Store>& stores = doc.value.compare;
  if (stores.empty()) refuse(doc, "compare", "nothing to compare", "name one of \"nvlink\", \"pcie\", \"pool\"");
  for (const Store store : stores) {
    if (std::count(stores.begin(), stores.end(), store) > 1) {
      refuse(doc, "compare", "one memory is named twice", "name each once");
      return;
    }
  }
}

void check_dense(Document& doc) {
  const Scenario& s = doc.value;
  if (s.dense.interaction != Interaction::dot) return;
  for (const Table& t : s.embedding.table) {
    if (s.dense.bottom.empty() || t.dim != s.dense.bottom.back()) {
      refuse(doc, "dense.interaction", "dot products need tables as wide as the last layer of dense.bottom",
             "make them equal, or choose interaction = \"cross\"");
      return;
    }
  }
}

void check_cluster(Document& doc, const catalog::Catalog& catalog) {
  const Scenario& s = doc.value;
  const Result<catalog::Gpu> gpu = catalog.gpu(s.cluster.gpu);
  if (!gpu) {
    refuse(doc, "cluster.gpu", gpu.error().message, "");
    return;
  }
  if (s.cluster.domain && s.cluster.gpus > *s.cluster.domain && s.cluster.gpus % *s.cluster.domain != 0) {
    refuse(doc, "cluster.domain", fmt::format("{} GPUs do not fill domains of {}", s.cluster.gpus, *s.cluster.domain),
           "make cluster.gpus a multiple of cluster.domain");
  }
  if (s.step.batch < s.cluster.gpus) {
    refuse(doc, "step.batch", fmt::format("{} samples are fewer than {} GPUs", s.step.batch, s.cluster.gpus),
           "step.batch counts the samples of all GPUs together");
  }
  if (s.pool.sharers && *s.pool.sharers > s.cluster.gpus) {
    refuse(doc, "pool.sharers",
           fmt::format("{} GPUs cannot read at once in a cluster of {}", *s.pool.sharers, s.cluster.gpus),
           "lower pool.sharers, or leave it out for 16 or all of a smaller cluster");
  }
  for (const Table& t : s.embedding.table) {
    if (s.sharding.spread == Spread::column && t.dim % s.sharding.columns != 0) {
      refuse(doc, "sharding.columns", fmt::format("{} columns do not split a table of {}", s.sharding.columns, t.dim),
             "choose a divisor of every embedding.table.dim");
      return;
    }
  }
  if (s.sharding.columns > s.cluster.gpus) {
    if (s.sharding.spread == Spread::column)
      refuse(doc, "sharding.columns", "there are more column shards than GPUs", "lower sharding.columns");
  }
}

}  // namespace

std::span<const EnumName<Format>> names_of(Format) {
  static constexpr EnumName<Format> kNames[] = {
      {Format::fp32, "fp32", "4 bytes"}, {Format::fp16, "fp16", "2 bytes"}, {Format::int8, "int8", "1 byte"}};
  return kNames;
}
std::span<const EnumName<Preset>> names_of(Preset) {
  static constexpr EnumName<Preset> kNames[] = {
      {Preset::none, "none", "tables as listed"},
      {Preset::dlrm_dcnv2, "dlrm_dcnv2", "the 26 tables of MLPerf DLRM-DCNv2 (Criteo 1TB, multi-hot)"}};
  return kNames;
}
std::span<const EnumName<LookupSets>> names_of(LookupSets) {
  static constexpr EnumName<LookupSets> kNames[] = {
      {LookupSets::fixed, "fixed", "the value drawn first fixes the other rows (MLPerf's multi-hot data)"},
      {LookupSets::independent, "independent", "every row is a draw of its own"}};
  return kNames;
}
std::span<const EnumName<Interaction>> names_of(Interaction) {
  static constexpr EnumName<Interaction> kNames[] = {{Interaction::cross, "cross", "DCNv2 cross layers of low rank"},
                                                     {Interaction::dot, "dot", "dot products of all pairs (DLRM)"},
                                                     {Interaction::none, "none", "concatenation"}};
  return kNames;
}
std::span<const EnumName<Phase>> names_of(Phase) {
  static constexpr EnumName<Phase> kNames[] = {{Phase::training, "training", "forward, backward and update"},
                                               {Phase::inference, "inference", "forward"}};
  return kNames;
}
std::span<const EnumName<Optimizer>> names_of(Optimizer) {
  static constexpr EnumName<Optimizer> kNames[] = {
      {Optimizer::adagrad, "adagrad", "one fp32 state per weight"},
      {Optimizer::rowwise_adagrad, "rowwise_adagrad", "one fp32 state per row"},
      {Optimizer::sgd, "sgd", "no state"}};
  return kNames;
}
std::span<const EnumName<Spread>> names_of(Spread) {
  static constexpr EnumName<Spread> kNames[] = {
      {Spread::table, "table", "each table on one GPU"},
      {Spread::row, "row", "the rows of each table over all GPUs"},
      {Spread::column, "column", "the columns of each table over `columns` GPUs"},
      {Spread::hybrid, "hybrid", "each table on one domain, its rows over the GPUs there"},
      {Spread::automatic, "automatic", "the greedy planner of HugeCTR: hottest shards split until the load is even"}};
  return kNames;
}
std::span<const EnumName<Exchange>> names_of(Exchange) {
  static constexpr EnumName<Exchange> kNames[] = {
      {Exchange::flat, "flat", "one all-to-all of partial sums over all GPUs"},
      {Exchange::hierarchical, "hierarchical", "partial sums are added inside a domain before they leave it"}};
  return kNames;
}
std::span<const EnumName<Store>> names_of(Store) {
  static constexpr EnumName<Store> kNames[] = {
      {Store::nvlink, "nvlink", "tables in the memory of GPUs joined by NVLink, and NICs between domains"},
      {Store::pcie, "pcie", "tables in host memory, read over PCIe"},
      {Store::pool, "pool", "tables in a photonic memory pool that every GPU reads"}};
  return kNames;
}

void describe(Fields& f, Table& t) {
  f("rows", t.rows, {.doc = "Rows.", .min = 1, .max = kRowsMax, .required = true});
  f("dim", t.dim, {.doc = "Width of a row.", .min = 1, .max = 65536});
  f("pooling", t.pooling, {.doc = "Rows that one sample looks up and sums.", .max = 1e5, .above = 0});
  f("count", t.count, {.doc = "Tables of this kind.", .min = 1, .max = static_cast<double>(kTablesMax)});
}

void describe(Fields& f, Embedding& e) {
  f("preset", e.preset, {.doc = "Tables of a known model; listed ones come after them."});
  f("table", e.table, {.doc = "Tables."});
  f("weights", e.weights, {.doc = "Format of stored rows."});
  f("wire", e.wire, {.doc = "Format of pooled vectors and their gradients between GPUs."});
  f("skew", e.skew, {.doc = "Zipf exponent of lookups; 0: uniform. Criteo 1TB: 1.04 to 1.1.", .min = 0, .max = 3});
  f("lookups", e.lookups, {.doc = "How the rows of one sample hang together."});
}

void describe(Fields& f, Dense& d) {
  f("features", d.features, {.doc = "Dense input features; 0: no bottom layers.", .min = 0, .max = 1 << 20});
  f("bottom", d.bottom, {.doc = "Widths of the bottom layers.", .min = 1, .max = 1 << 20, .items_max = 64});
  f("interaction", d.interaction, {.doc = "How embeddings and dense features meet."});
  f("cross_layers", d.cross_layers, {.doc = "DCNv2: layers.", .min = 0, .max = 64});
  f("cross_rank", d.cross_rank, {.doc = "DCNv2: rank of each layer's matrix.", .min = 1, .max = 1 << 20});
  f("top", d.top,
    {.doc = "Widths of the top layers; empty: pooling alone.", .min = 1, .max = 1 << 20, .items_max = 64});
  f("precision", d.precision, {.doc = "Format of matrix products and activations."});
}

void describe(Fields& f, Step& s) {
  f("phase", s.phase, {.doc = "What one step does."});
  f("batch", s.batch, {.doc = "Samples of all GPUs together.", .min = 1, .max = 1e9});
  f("optimizer", s.optimizer, {.doc = "Optimizer of rows and of dense weights."});
  f("evaluation", s.evaluation,
    {.doc = "Samples evaluated for each one trained, inside the measured time. MLPerf DLRM-DCNv2: 0.425.",
     .min = 0,
     .max = 100});
  f("evaluation_batch", s.evaluation_batch, {.doc = "Samples of one evaluation step.", .min = 1, .max = 1e9});
}

void describe(Fields& f, Cluster& c) {
  f("gpu", c.gpu, {.doc = "GPU of the catalog."});
  f("gpus", c.gpus, {.doc = "GPUs.", .min = 1, .max = kGpusMax});
  f("domain", c.domain, {.doc = "GPUs joined by NVLink.", .min = 1, .max = kGpusMax, .absent = "the GPU's own domain"});
  f("network_rate", c.network_rate,
    {.doc = "NIC per GPU and direction.", .max = 1e15, .above = 0, .absent = "the GPU's own NIC"});
}

void describe(Fields& f, Sharding& s) {
  f("spread", s.spread, {.doc = "How tables are spread over GPUs."});
  f("columns", s.columns, {.doc = "column: parts of each table.", .min = 1, .max = 4096});
  f("replicate_below", s.replicate_below, {.doc = "Tables of fewer rows are on every GPU.", .min = 0, .max = kRowsMax});
  f("exchange", s.exchange, {.doc = "Way of pooled vectors between GPUs."});
}

void describe(Fields& f, Access& a) {
  f("stream_efficiency", a.stream_efficiency,
    {.doc = "Share of the peak rate for whole pages. 0.80 to 0.95 measured.", .max = 1, .above = 0});
  f("row_overhead", a.row_overhead, {.doc = "Bus time a row costs beside its bytes. 32 to 128 B.", .max = 1 << 20});
  f("transaction", a.transaction, {.doc = "Smallest piece read: 32 or 64 B.", .min = 1, .max = 1 << 20});
  f("outstanding", a.outstanding,
    {.doc = "Bytes in flight of one GPU.", .max = 1e12, .above = 0, .absent = "2.0 MB per 3.35 TB/s of memory rate"});
  f("latency", a.latency, {.doc = "Load from device memory. 500 to 800 ns.", .max = 1, .above = 0});
  f("cache", a.cache, {.doc = "On-chip cache.", .max = 1e12, .absent = "that of the GPU"});
  f("cache_share", a.cache_share, {.doc = "Share of the cache that keeps hot rows. 0.3 to 1.", .min = 0, .max = 1});
  f("cache_speedup", a.cache_speedup, {.doc = "Read rate of the cache over that of memory.", .min = 1, .max = 100});
}

void describe(Fields& f, Host& h) {
  f("rate", h.rate,
    {.doc = "PCIe per GPU and direction. 51 to 55 GB/s measured for PCIe 5 x16.", .max = 1e15, .above = 0});
  f("latency", h.latency, {.doc = "Load from host memory. 1 to 2 us.", .max = 1, .above = 0});
  f("outstanding", h.outstanding, {.doc = "Bytes in flight over PCIe: 64 KiB to 1 MiB.", .max = 1e12, .above = 0});
  f("capacity", h.capacity, {.doc = "Host memory per GPU.", .max = 1e16, .above = 0});
  f("packet_overhead", h.packet_overhead, {.doc = "Header and framing of a PCIe packet.", .max = 4096});
  f("packet", h.packet, {.doc = "Payload of a PCIe packet.", .min = 1, .max = 4096});
  f("hot_rows", h.hot_rows, {.doc = "Device memory of each GPU that keeps hot rows.", .max = 1e15});
}

void describe(Fields& f, Pool& p) {
  f("module", p.module, {.doc = "One module."});
  f("appliance", p.appliance, {.doc = "Modules joined all to all."});
  f("tier", p.tier, {.doc = "Appliances joined by spines."});
  f("ports", p.ports, {.doc = "Ports of the pool that one GPU enters at.", .min = 1, .max = 1024});
  f("sharers", p.sharers,
    {.doc = "GPUs that read at once; at most those of the cluster.",
     .min = 1,
     .max = kGpusMax,
     .absent = "16, or all of a smaller cluster"});
  f("hot_rows", p.hot_rows, {.doc = "Device memory of each GPU that keeps hot rows.", .max = 1e15});
  f("as_published_rate", p.as_published_rate,
    {.doc = "Rate per GPU that takes the place of every cut; said with the result.",
     .max = 1e18,
     .above = 0,
     .absent = "the smallest cut holds"});
}

void describe(Fields& f, Overheads& o) {
  f("step", o.step, {.doc = "Launch of a step's graph by the host. 10 to 30 us.", .max = 1});
  f("embedding_kernels", o.embedding_kernels,
    {.doc = "Kernels of one pass over sharded tables. 20 to 60.", .min = 0, .max = 1e5});
  f("replicated_kernels", o.replicated_kernels,
    {.doc = "Kernels of one pass over replicated tables. 8 to 20.", .min = 0, .max = 1e5});
  f("sort_bytes_per_key", o.sort_bytes_per_key,
    {.doc = "Bytes moved per lookup to group equal rows: four radix passes of key and position, and flags. 64 to 160.",
     .min = 0,
     .max = 1e5});
  f("workspace", o.workspace, {.doc = "Device memory of runtime and libraries.", .max = 1e12});
}

void describe(Fields& f, Scenario& s) {
  f("name", s.name, {.doc = "For the report."});
  f("embedding", s.embedding, {.doc = "Embedding tables and their lookups."});
  f("dense", s.dense, {.doc = "Layers around them."});
  f("step", s.step, {.doc = "What one step does."});
  f("cluster", s.cluster, {.doc = "GPUs and how they are joined."});
  f("sharding", s.sharding, {.doc = "How tables are spread."});
  f("access", s.access, {.doc = "Reading rows at random."});
  f("host", s.host, {.doc = "Host memory over PCIe."});
  f("pool", s.pool, {.doc = "Photonic memory pool."});
  f("overheads", s.overheads, {.doc = "What is neither product nor byte."});
  f("compare", s.compare, {.doc = "Memories to keep the tables in, side by side.", .items_max = 3});
}

Result<Document> load_scenario(const std::string& file, const std::vector<std::string>& sets,
                               const catalog::Catalog& catalog) {
  const config::Check<Scenario> check = [&](Document& doc) {
    if (doc.value.embedding.preset == Preset::dlrm_dcnv2) {
      std::vector<Table> tables = dlrm_dcnv2_tables();
      tables.insert(tables.end(), doc.value.embedding.table.begin(), doc.value.embedding.table.end());
      doc.value.embedding.table = std::move(tables);
      doc.value.embedding.preset = Preset::none;
    }
    check_tables(doc);
    check_compare(doc);
    check_dense(doc);
    check_cluster(doc, catalog);
  };
  return config::load_document<Scenario>(file, sets, {}, check);
}

std::vector<Table> dlrm_dcnv2_tables() {
  constexpr std::int64_t kRows[] = {40'000'000, 39'060,     17'295,     7'424,      20'265,  3,      7'122, 1'543, 63,
                                    40'000'000, 3'067'956,  405'282,    10,         2'209,   11'938, 155,   4,     976,
                                    14,         40'000'000, 40'000'000, 40'000'000, 590'152, 12'973, 108,   36};
  constexpr double kPooling[] = {3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1};
  static_assert(std::size(kRows) == std::size(kPooling));
  std::vector<Table> tables;
  for (std::size_t i = 0; i < std::size(kRows); ++i) tables.push_back({kRows[i], 128, kPooling[i], 1});
  return tables;
}

std::vector<Table> expanded(const std::vector<Table>& tables) {
  std::vector<Table> all;
  for (const Table& t : tables) {
    for (std::int64_t i = 0; i < t.count; ++i) all.push_back({t.rows, t.dim, t.pooling, 1});
  }
  return all;
}

}  // namespace photonrail::recommendation

#include "pool/pool_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/units_text.h"
#include "pool/text.h"
#include "report/human.h"

namespace photonrail::pool {
namespace {

using report::human;
using Value = std::optional<double>;

constexpr double kHitRates[] = {0, 0.25, 0.5, 0.75, 0.9, 1};

// What a case has: a read of the scenario, or a point of the grid.
struct Row {
  const ReadsResult* reads = nullptr;
  const EffectiveRate* shared = nullptr;
  double hit_rate = 0;
  double sharers = 0;
};

struct PoolMetric {
  report::Metric metric;
  Value (*take)(const Row& row, const PoolCheck& check);  // null: derived
};

Value modelled(const Row& row, const PoolCheck&) {
  if (row.reads == nullptr || !row.reads->reads.rate) return std::nullopt;
  return bytes_per_second(*row.reads->reads.rate);
}
Value size(const Row& row, const PoolCheck&) {
  const auto each = row.reads != nullptr ? row.reads->reads.of_each() : std::nullopt;
  return each ? Value(static_cast<double>(each->count)) : std::nullopt;
}

std::vector<PoolMetric> pool_metrics() {
  const std::string model = "docs/models/pool.md";
  return {
      {{"readers", "accelerators that read at once", "count", "", "the scenario, or the grid", {}, ""},
       [](const Row& row, const PoolCheck&) -> Value { return row.sharers; }},
      {{"hit_rate", "share of bytes found in the HBM tier", "ratio", "", "the scenario, the grid, or sizes", {}, model},
       [](const Row& row, const PoolCheck&) -> Value { return row.hit_rate; }},
      {{"latency", "mean latency of a load", "s", "", "own latency + fabric + misses' DDR + spines", {}, model},
       [](const Row& row, const PoolCheck&) -> Value { return row.reads ? row.reads->latency : row.shared->latency; }},
      {{"cut_share",
        "max-min fair share of the smallest cut",
        "B/s",
        "",
        "all reads at once, perfect overlap",
        {},
        model},
       [](const Row& row, const PoolCheck&) -> Value {
         return row.reads ? row.reads->cut_share : row.shared->cut_share;
       }},
      {{"sustained_in_flight",
        "bytes that one accelerator keeps in flight",
        "B",
        "",
        "accelerator.outstanding",
        {},
        ""},
       [](const Row&, const PoolCheck& check) -> Value { return static_cast<double>(check.pool.outstanding.count); }},
      {{"concurrency",
        "rate that the bytes in flight allow",
        "B/s",
        "sustained_in_flight / latency",
        "Little's law",
        {},
        model},
       nullptr},
      {{"possible", "rate that is possible", "B/s", "", "the smaller of cut_share and concurrency", {}, model},
       [](const Row& row, const PoolCheck&) -> Value {
         return row.reads ? row.reads->possible : row.shared->overlapped;
       }},
      {{"added_times",
        "rate where times of hits and misses add",
        "B/s",
        "",
        "1 / (h / r_hbm + (1 - h) / r_ddr), each the smaller of share and concurrency",
        {},
        model},
       [](const Row& row, const PoolCheck&) -> Value { return row.reads ? row.reads->added_times : row.shared->rate; }},
      {{"modelled", "rate that is modelled", "B/s", "", "reads.rate", {}, ""}, modelled},
      {{"overload", "modelled over possible", "times", "modelled / possible", "above 1 it cannot be", {}, ""}, nullptr},
      {{"needed_in_flight",
        "bytes in flight that the modelled rate needs",
        "B",
        "modelled * latency",
        "Little's law",
        {},
        model},
       nullptr},
      {{"size", "bytes read in one pass", "B", "", "reads.each, or reads.size", {}, ""}, size},
      {{"pass_modelled", "time of one pass at the modelled rate", "s", "size / modelled", "", {}, ""}, nullptr},
      {{"pass_possible", "time of one pass at the possible rate", "s", "size / added_times", "", {}, ""}, nullptr},
  };
}

void add_case(report::Report& out, const std::vector<PoolMetric>& metrics, std::string id, const char* kind,
              const Row& row, const PoolCheck& check) {
  report::Case c;
  c.id = id;
  c.name = std::move(id);
  c.kind = kind;
  Digest digest;
  for (const PoolMetric& m : metrics) {
    c.values.push_back(m.take != nullptr ? m.take(row, check) : std::nullopt);
    if (c.values.back()) digest.add(report::exact(*c.values.back()));
  }
  if (row.reads != nullptr) c.sources.emplace_back("hit_rate", row.reads->hit_rate_source);
  if (row.reads != nullptr) c.sources.emplace_back("possible", "limit: " + row.reads->limit);
  if (row.shared != nullptr) c.sources.emplace_back("possible", "limit: " + row.shared->limit);
  c.sources.emplace_back("sustained_in_flight", check.pool.outstanding_source);
  c.digest = digest.hex();
  out.cases.push_back(std::move(c));
}

std::vector<std::int64_t> sharer_counts(std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = 1; n < most && n < 256; n *= 2) out.push_back(n);
  out.push_back(std::min<std::int64_t>(most, 256));
  return out;
}

// Rows sharers, columns hit rates; also the cases of the grid.
Result<report::Table> add_grid(report::Report& out, const std::vector<PoolMetric>& metrics, const PoolCheck& check) {
  report::Table table{"Rate of each accelerator by sharers and hit rate of the HBM tier",
                      {{"sharers"}},
                      {},
                      {"Interleaved over the appliance; times of hits and misses add."}};
  for (const double h : kHitRates) table.columns.push_back({fmt::format("{:.0f} %", h * 100)});
  const Module& m = check.pool.system.module;
  for (const std::int64_t sharers : sharer_counts(check.pool.system.accelerators_max())) {
    std::vector<std::string> row{fmt::format("{}", sharers)};
    for (const double h : kHitRates) {
      if ((h > 0 && m.hbm_stacks == 0) || (h < 1 && m.ddr_channels == 0)) {
        row.emplace_back("-");
        continue;
      }
      PR_ASSIGN(const EffectiveRate rate, effective_rate(check.pool, {sharers, h, Spread::appliance, std::nullopt}));
      row.push_back(human(rate.rate, "B/s"));
      add_case(out, metrics, fmt::format("sharers{}@hit{:g}", sharers, h), "sharing",
               {nullptr, &rate, h, static_cast<double>(sharers)}, check);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table reads_table(const PoolCheck& check) {
  report::Table table{"Reads",
                      {{"", false},
                       {"readers"},
                       {"hit rate"},
                       {"modelled"},
                       {"possible"},
                       {"limited by", false},
                       {"in flight needed"},
                       {"sustained"},
                       {"times add"},
                       {"one pass"}},
                      {},
                      {}};
  for (const ReadsResult& r : check.reads) {
    const bool rated = r.reads.rate.has_value();
    const auto each = r.reads.of_each();
    table.rows.push_back({r.reads.name, fmt::format("{}", r.readers),
                          r.reads.from == Origin::pool ? human(r.hit_rate, "ratio") : "-",
                          rated ? human(bytes_per_second(*r.reads.rate), "B/s") : "-", human(r.possible, "B/s"),
                          r.limit, rated ? human(r.in_flight, "B") : "-",
                          human(static_cast<double>(check.pool.outstanding.count), "B"), human(r.added_times, "B/s"),
                          each ? human(static_cast<double>(each->count) / r.added_times, "s") : "-"});
  }
  return table;
}

report::Table links_table(const PoolCheck& check) {
  report::Table table{"Links under the modelled rates",
                      {{"", false}, {"count"}, {"each carries"}, {""}, {"fullest"}, {"load"}},
                      {},
                      {}};
  for (const LinkSummary& l : check.links) {
    table.rows.push_back({name_of(l.part), fmt::format("{}", l.count), bit_rate_text(l.capacity * 8),
                          human(l.capacity, "B/s"), human(l.load, "B/s"),
                          l.capacity > 0 ? human(l.load / l.capacity, "ratio") : "-"});
  }
  return table;
}

report::Table capacity_table(const PoolCheck& check) {
  report::Table table{"Memory", {{"", false}, {"size"}, {"stored"}}, {}, {}};
  for (const CapacitySummary& c : check.capacity) {
    table.rows.push_back({c.where, human(c.size, "B"), human(c.stored, "B")});
  }
  table.notes.push_back(
      "Each object is stored once; in a pass every reader reads all of it, or its part (reads.each). Sizes that the "
      "scenario leaves out are not counted.");
  return table;
}

std::string failure_text(const PoolCheck& check) {
  const System& s = check.pool.system;
  bool wide = false;
  bool appliance = false;
  for (const ReadsResult& r : check.reads) {
    wide = wide || (r.reads.from == Origin::pool && r.reads.spread == Spread::system);
    appliance = appliance || (r.reads.from == Origin::pool && r.reads.spread == Spread::appliance);
  }
  const std::int64_t sharers = (s.accelerator.count + s.tier.appliances - 1) / s.tier.appliances;
  const std::int64_t lost = wide ? s.accelerator.count : appliance ? sharers : 1;
  return fmt::format(
      "Failure domain: what lies on one of {} modules is lost with it; as the reads are spread, that "
      "stops up to {} of {} accelerators until it is loaded again. No copy or code is modelled.",
      s.modules(), lost, s.accelerator.count);
}

std::string verdict(const PoolCheck& check) {
  if (check.violations.empty()) return "Every modelled rate is carried by every cut that it crosses.";
  std::string out = check.as_published ? fmt::format("OVERRIDE as_published: let pass although {} limits are broken:",
                                                     check.violations.size())
                                       : fmt::format("BROKEN: {} limits:", check.violations.size());
  return out;
}

}  // namespace

std::vector<std::string> assumptions_of(const PoolCheck& check) {
  const System& s = check.pool.system;
  std::vector<std::string> out = {
      fmt::format("stacks of {} at {}, {} DDR5 channels of {} in a module: assumed unless given",
                  to_text(s.module.hbm_stack), to_text(s.module.hbm_stack_rate), s.module.ddr_channels,
                  to_text(s.module.ddr_channel_rate)),
      s.module.switch_shared ? "the embedded switch has one budget for both of its sides"
                             : "the embedded switch has its rate towards the ports, and again out of the memory",
      fmt::format("latency of a load {} in the accelerator (unchecked) + {} for the fabric (vendor claim)",
                  to_text(s.accelerator.local_latency), to_text(s.accelerator.fabric_latency)),
      fmt::format("bytes in flight: {}", check.pool.outstanding_source),
      "spines and uplinks are loaded evenly; objects are interleaved evenly",
  };
  if (check.as_published && !check.violations.empty()) {
    for (const Violation& v : check.violations) out.push_back("OVERRIDE as_published: " + violation_text(v));
  }
  return out;
}

Result<report::Report> pool_report(const PoolDocument& doc, const PoolCheck& check, std::string_view version) {
  report::Report out;
  out.command = "check";
  out.version = version;
  out.scenario_name = doc.value.name;
  out.scenario_text = config::show_document(doc);
  Digest hash;
  hash.add(config::canonical_document(doc.value));
  out.scenario_hash = hash.hex();
  const System& s = check.pool.system;
  out.header = {
      {"module", fmt::format("{} of {}, switch {}, HBM {} at {}, DDR {} at {}", report::counted(s.module.ports, "port"),
                             bit_rate_text(static_cast<double>(s.module.port_rate.bits_per_second)),
                             bit_rate_text(static_cast<double>(s.module.switch_rate.bits_per_second)),
                             human(static_cast<double>(s.module.hbm().count), "B"),
                             human(bytes_per_second(s.module.hbm_rate()), "B/s"),
                             human(static_cast<double>(s.module.ddr.count), "B"),
                             human(bytes_per_second(s.module.ddr_rate()), "B/s"))},
      {"pool", fmt::format("{} of {}, {} all to all each; {}", report::counted(s.tier.appliances, "appliance"),
                           report::counted(s.appliance.modules, "module"),
                           bit_rate_text(static_cast<double>(s.all_to_all().bits_per_second)),
                           report::counted(s.spines(), "spine"))},
      {"accelerators", fmt::format("{} x {} (room for {}), {} each", s.accelerator.count, check.pool.gpu,
                                   s.accelerators_max(), report::counted(s.accelerator.ports, "port"))}};
  const std::vector<PoolMetric> metrics = pool_metrics();
  const std::vector<std::string> assumptions = assumptions_of(check);
  for (const PoolMetric& m : metrics) {
    out.metrics.push_back(m.metric);
    out.metrics.back().assumptions = assumptions;
  }
  out.constants.push_back({"violations", "limits that are broken", static_cast<double>(check.violations.size()),
                           "count", check.as_published ? "let pass: as_published" : "see the reading"});
  for (const ReadsResult& r : check.reads) {
    add_case(out, metrics, r.reads.name, "read", {&r, nullptr, r.hit_rate, static_cast<double>(r.readers)}, check);
  }
  if (!check.reads.empty()) out.tables.push_back(reads_table(check));
  out.tables.push_back(links_table(check));
  out.tables.push_back(capacity_table(check));
  PR_ASSIGN(report::Table grid, add_grid(out, metrics, check));
  out.tables.push_back(std::move(grid));
  report::Table basis{"Assumptions", {}, {}, {}};
  for (const std::string& line : assumptions) basis.notes.push_back("- " + line);
  out.tables.push_back(std::move(basis));
  out.reading = {failure_text(check), verdict(check)};
  for (const Violation& v : check.violations) out.reading.push_back("  " + violation_text(v));
  report::derive(out);
  Digest digest;
  for (const report::Case& c : out.cases) digest.add(c.digest);
  out.digest = digest.hex();
  return out;
}

}  // namespace photonrail::pool

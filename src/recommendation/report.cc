#include "recommendation/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/digest.h"
#include "base/units_text.h"
#include "report/human.h"

namespace photonrail::recommendation {
namespace {

using report::human;
using report::Report;

// What every result rests on beside the scenario's own figures: value, range, source.
std::vector<std::string> assumptions(const Setup& setup) {
  const Scenario& s = setup.scenario;
  const Access& a = s.access;
  return {
      fmt::format(
          "rows at random: stream efficiency {:g} (0.80 to 0.95; Azure benchmarks: 0.87 to 0.95 on H100, 0.83 to "
          "0.93 on H200), {} of overhead per row (32 to 128 B: page activation and bus turn-round), transactions of "
          "{} (32 or 64 B)",
          a.stream_efficiency, to_text(a.row_overhead), to_text(a.transaction)),
      fmt::format("bytes in flight: {} over {} (500 to 800 ns); a rate is never above their quotient",
                  a.outstanding ? to_text(*a.outstanding) : std::string("2.0 MB per 3.35 TB/s of memory rate"),
                  to_text(a.latency)),
      fmt::format(
          "on-chip cache: {} ({}), of which {:g} keeps hot rows (0.3 to 1), {:g} times as fast as memory (1.5 to 3)",
          human(setup.cache_bytes, "B"), setup.cache_source, a.cache_share, a.cache_speedup),
      fmt::format("popularity: Zipf exponent {:g}, sets {}; Criteo 1TB is quoted with 1.04 to 1.1", s.embedding.skew,
                  config::enum_name(s.embedding.lookups)),
      fmt::format(
          "host: {} to launch a step (10 to 30 us with CUDA graphs); {} kernels per pass over sharded tables (20 to "
          "60), {} over replicated ones (8 to 20); {:g} B moved per key to group rows (64 to 160)",
          to_text(s.overheads.step), s.overheads.embedding_kernels, s.overheads.replicated_kernels,
          s.overheads.sort_bytes_per_key),
      fmt::format("PCIe: {} per GPU (Azure benchmarks: 51 to 55 GB/s for PCIe 5 x16), {} of header per {}",
                  to_text(s.host.rate), to_text(s.host.packet_overhead), to_text(s.host.packet)),
      "links: kernels of one GPU add up; transfers overlap with the layers and updates that do not wait for them",
      "pool: read by all GPUs without sharding or exchange; in training each writes its own distinct rows, and sums of "
      "rows that several GPUs touch cost nothing extra (in favour of the pool)"};
}

struct Columns {
  Report& r;
  std::size_t add(std::string id, std::string label, std::string unit, std::string rule, std::string formula = "") {
    r.metrics.push_back(
        {std::move(id), std::move(label), std::move(unit), std::move(formula), std::move(rule), {}, ""});
    return r.metrics.size() - 1;
  }
};

std::string part_id(const std::string& name) {
  std::string id = "part_";
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      id += c;
    else if (id.back() != '_')
      id += '_';
  }
  return id;
}

struct Energy {
  double step = 0;
  bool known = false;
};
Energy energy_of(const Setup& setup, const Outcome& out) {
  const Result<energy::GpuPower> power = energy::power_of(setup.gpu);
  if (!power) return {};
  return {energy::joules(*power, out.activity) * static_cast<double>(setup.scenario.cluster.gpus), true};
}

void add_metrics(Report& r, const Comparison& in) {
  Columns c{r};
  c.add("step_time", "Step", "s", "sum of what parts expose, step.h");
  c.add("evaluation_time", "Evaluation carried by a step", "s", "e T_forward(B_e) B / B_e");
  c.add("pooling_time", "Pooling", "s", "keys, rows, exchange and sums of one forward pass, nothing overlapped");
  c.add("samples_per_second", "Samples a second", "count", "batch over step and evaluation",
        "batch / (step_time + evaluation_time)");
  c.add("step_gain", "Gain in time of a step", "times", "over the baseline", "baseline.step_time / step_time");
  c.add("pooling_gain", "Gain in time of pooling", "times", "over the baseline",
        "baseline.pooling_time / pooling_time");
  c.add("row_rate", "Rate of rows per GPU", "B/s", "access.h, at the mean width of rows");
  c.add("looked_up", "Rows looked up", "B", "B sum of P D w");
  c.add("sent", "Sent by the busiest GPU, forward", "B", "partial sums of its shards");
  c.add("distinct", "Distinct rows among lookups", "ratio", "skew.h");
  c.add("near_hits", "Lookups served by cache or hot rows", "ratio", "skew.h");
  c.add("imbalance", "Lookups of the busiest GPU over the mean", "times", "plan.h and the most popular rows");
  c.add("device_memory", "Device memory of the fullest GPU", "B", "tables, dense state, activations, workspace");
  c.add("device_capacity", "Device memory there is", "B", "of the catalog");
  c.add("store_memory", "Tables outside device memory", "B", "host memory per GPU, or the pool");
  c.add("gpu_energy", "Energy of all GPUs per step", "J", "energy/power.h: static and dynamic");
  c.add("energy_per_sample", "Energy of GPUs per sample", "J", "without evaluation", "gpu_energy / batch");
  for (const auto& [store, outcome] : in.outcomes) {
    if (!outcome) continue;
    for (const Part& p : outcome->parts) {
      const std::string id = part_id(p.name);
      if (!report::find_metric(r, id)) c.add(id, p.name, "s", std::string("exposed time; ") + name_of(p.resource));
    }
  }
}

report::Case make_case(const Report& r, const Comparison& in, Store store, const Result<Outcome>& outcome) {
  report::Case c;
  c.id = c.name = config::enum_name(store);
  c.kind = store == Store::pool ? "photonic" : "electrical";
  c.values.resize(r.metrics.size());
  if (!outcome) {
    c.refusal = outcome.error().message;
    return c;
  }
  const Outcome& o = *outcome;
  const auto put = [&](std::string_view id, double value) { c.values[*report::find_metric(r, id)] = value; };
  put("step_time", o.step);
  put("evaluation_time", o.evaluation);
  put("pooling_time", o.pooling);
  put("row_rate", o.row_rate);
  put("looked_up", o.looked_up);
  put("sent", o.sent);
  put("distinct", o.distinct);
  put("near_hits", o.cache_hits);
  put("imbalance", o.imbalance);
  put("device_memory", o.memory.device());
  put("device_capacity", o.memory.capacity);
  put("store_memory", o.memory.store_tables);
  if (const Energy energy = energy_of(in.setup, o); energy.known) put("gpu_energy", energy.step);
  for (const Part& p : o.parts) put(part_id(p.name), p.exposed);
  Digest digest;
  for (const auto& value : c.values) digest.add(value ? report::exact(*value) : "none");
  c.digest = digest.hex();
  return c;
}

std::string cell(const Report& r, const report::Case& c, std::string_view id) {
  if (!c.refusal.empty()) return "-";
  const auto metric = report::find_metric(r, id);
  return human(c.values[*metric], r.metrics[*metric].unit);
}

report::Table results_table(const Report& r, const Comparison& in) {
  report::Table t{"Results", {{"", false}}, {}, {}};
  for (const report::Case& c : r.cases) t.columns.push_back({c.name, true});
  for (const report::Metric& m : r.metrics) {
    if (m.id.starts_with("part_")) continue;
    std::vector<std::string> row = {m.label};
    for (const report::Case& c : r.cases) row.push_back(cell(r, c, m.id));
    t.rows.push_back(std::move(row));
  }
  std::vector<std::string> bound = {"Bound by"}, limit = {"Rows limited by"}, basis = {"Basis of the kernels"};
  for (const auto& [store, outcome] : in.outcomes) {
    bound.push_back(outcome ? name_of(outcome->bound_by()) : "-");
    limit.push_back(outcome ? outcome->row_limit.substr(0, outcome->row_limit.find(" (")) : "-");
    basis.push_back(outcome ? operators::name_of(outcome->basis) : "-");
  }
  t.rows.push_back(std::move(bound));
  t.rows.push_back(std::move(limit));
  t.rows.push_back(std::move(basis));
  for (const report::Case& c : r.cases) {
    if (!c.refusal.empty()) t.notes.push_back(c.refusal);
  }
  return t;
}

report::Table parts_table(const Report& r, const Comparison& in) {
  report::Table t{"Exposed time of the parts of a step", {{"", false}, {"on", false}}, {}, {}};
  for (const report::Case& c : r.cases) t.columns.push_back({c.name, true});
  std::map<std::string, const char*> resource;
  for (const auto& [store, outcome] : in.outcomes) {
    if (!outcome) continue;
    for (const Part& p : outcome->parts) resource[part_id(p.name)] = name_of(p.resource);
  }
  for (const report::Metric& m : r.metrics) {
    if (!m.id.starts_with("part_")) continue;
    std::vector<std::string> row = {m.label, resource[m.id]};
    for (const report::Case& c : r.cases) row.push_back(cell(r, c, m.id));
    t.rows.push_back(std::move(row));
  }
  return t;
}

void add_constants(Report& r, const Comparison& in) {
  const Setup& setup = in.setup;
  const Scenario& s = setup.scenario;
  const auto add = [&](const char* id, const char* label, double value, const char* unit, std::string source) {
    r.constants.push_back({id, label, value, unit, std::move(source)});
  };
  const std::string catalog = "catalog, " + setup.gpu.name;
  add("batch", "Samples of a step", static_cast<double>(s.step.batch), "count", "the scenario, step.batch");
  add("gpus", "GPUs", static_cast<double>(s.cluster.gpus), "count", "the scenario, cluster.gpus");
  add("domain", "GPUs of one NVLink domain", static_cast<double>(setup.domain), "count", "the scenario or the catalog");
  add("memory_rate", "Memory rate of a GPU", setup.memory_rate, "B/s", catalog);
  add("scale_up_rate", "NVLink rate of a GPU, per direction", setup.scale_up, "B/s", catalog);
  add("network_rate", "NIC rate of a GPU, per direction", setup.network, "B/s", "the scenario or the catalog");
  add("cache", "On-chip cache", setup.cache_bytes, "B", setup.cache_source);
  add("stream_efficiency", "Share of the peak rate that streams reach", s.access.stream_efficiency, "ratio",
      "access.stream_efficiency");
  add("row_overhead", "Bus time of a row beside its bytes", static_cast<double>(s.access.row_overhead.count), "B",
      "access.row_overhead");
  add("skew", "Zipf exponent", s.embedding.skew, "ratio", "embedding.skew");
}

void add_identity(Report& r, const config::Document<Scenario>& doc, std::string_view version) {
  r.command = "dlrm";
  r.version = version;
  r.scenario_name = doc.value.name;
  r.scenario_text = config::show_document(doc);
  Digest digest;
  digest.add(config::canonical_document(doc.value));
  r.scenario_hash = digest.hex();
}

void add_digest(Report& r) {
  Digest digest;
  for (const report::Case& c : r.cases) {
    digest.add(c.id);
    digest.add(c.digest);
  }
  r.digest = digest.hex();
}

std::string tables_text(const Setup& setup) {
  double bytes = 0, lookups = 0;
  for (const Table& t : setup.tables) {
    bytes += static_cast<double>(t.rows) * static_cast<double>(t.dim) * bytes_of(setup.scenario.embedding.weights);
    lookups += t.pooling;
  }
  return fmt::format("{} tables, {} in {}, {:g} lookups a sample", setup.tables.size(), human(bytes, "B"),
                     config::enum_name(setup.scenario.embedding.weights), lookups);
}

std::string rate_text(double rate) { return fmt::format("{:g} TB/s", rate / 1e12); }

std::string feasibility(const std::optional<double>& rate) {
  if (!rate) return "never";
  return *rate <= kPortRate ? "" : *rate <= kApplianceRate ? " *" : " **";
}

std::string cell_name(const MapCell& c) {
  return fmt::format("{}-{}-{}-p{:g}-d{}-{}-b{}", c.gpus, c.links == Links::one_domain ? "domain" : "nic",
                     config::enum_name(c.spread), c.pooling, c.dim, config::enum_name(c.weights), c.batch_per_gpu);
}

// Rows: GPUs, links, sharding; columns: pooling factors; cells: the rate that gives 22.8.
report::Table iso_table(const Map& map, std::int64_t dim, Format weights, std::int64_t batch) {
  report::Table t{
      fmt::format("Rate of the pool per GPU, TB/s, at which the gain is {}: width {}, {}, {} samples per GPU",
                  kPublishedGain, dim, config::enum_name(weights), batch),
      {{"GPUs"}, {"links", false}, {"sharding", false}},
      {},
      {}};
  std::vector<double> factors;
  for (const MapCell& c : map.cells) {
    if (std::find(factors.begin(), factors.end(), c.pooling) == factors.end()) factors.push_back(c.pooling);
  }
  for (const double f : factors) t.columns.push_back({fmt::format("pooling {:g}", f), true});
  for (const MapCell& c : map.cells) {
    if (c.dim != dim || c.weights != weights || c.batch_per_gpu != batch) continue;
    if (c.pooling == factors.front()) {
      t.rows.push_back({fmt::format("{}", c.gpus), c.links == Links::one_domain ? "one domain" : "domains of 8, NICs",
                        config::enum_name(c.spread)});
    }
    const std::string text = c.rate ? fmt::format("{:.3g}{}", *c.rate / 1e12, feasibility(c.rate)) : "never";
    t.rows.back().push_back(c.baseline_fits ? text : "(" + text + ")");
  }
  return t;
}

// Cells without a baseline that exists are counted apart: a gain over it is one over nothing that can be built.
report::Table share_table(const Map& map) {
  std::size_t fit = 0, port = 0, appliance = 0, beyond = 0, never = 0;
  for (const MapCell& c : map.cells) {
    if (!c.baseline_fits) continue;
    ++fit;
    ++(!c.rate ? never : *c.rate <= kPortRate ? port : *c.rate <= kApplianceRate ? appliance : beyond);
  }
  report::Table t{"Share of the cells whose baseline holds the tables", {{"", false}, {"cells"}, {"share"}}, {}, {}};
  const auto row = [&](const char* text, std::size_t n) {
    const double share = fit == 0 ? 0 : static_cast<double>(n) / static_cast<double>(fit);
    t.rows.push_back({text, fmt::format("{}", n), fit == 0 ? "-" : fmt::format("{:.1f} %", 100 * share)});
  };
  row("22.8x at or below the rate of a port", port);
  row("only between a port and an appliance for each GPU", appliance);
  row("only above what an appliance has", beyond);
  row("at no rate", never);
  t.notes.push_back(fmt::format("{} of {} cells are left out: their GPUs cannot hold the tables beside the batch",
                                map.cells.size() - fit, map.cells.size()));
  return t;
}

}  // namespace

Result<Comparison> compare(const Scenario& scenario, const catalog::Catalog& catalog) {
  Comparison out;
  PR_ASSIGN(out.setup, make_setup(scenario, catalog));
  PR_ASSIGN(const std::unique_ptr<Machine> machine, calibrated_machine(out.setup.gpu, scenario.cluster.network_rate));
  out.provenance = machine->provenance();
  for (const Store store : scenario.compare) out.outcomes.emplace_back(store, evaluate(out.setup, store, *machine));
  const bool answers =
      std::any_of(out.outcomes.begin(), out.outcomes.end(), [](const auto& o) { return o.second.has_value(); });
  if (!answers && !out.outcomes.empty()) return fail(out.outcomes.front().second.error());
  return out;
}

report::Report dlrm_report(const config::Document<Scenario>& doc, const Comparison& in, std::string_view version) {
  const Scenario& s = doc.value;
  Report r;
  add_identity(r, doc, version);
  r.header = {
      {"model", tables_text(in.setup)},
      {"step", fmt::format("{} of {} samples, sharding {}, exchange {}", config::enum_name(s.step.phase), s.step.batch,
                           config::enum_name(s.sharding.spread), config::enum_name(s.sharding.exchange))},
      {"cluster", fmt::format("{} {} in NVLink domains of {}, NIC {} per GPU", s.cluster.gpus, in.setup.gpu.name,
                              in.setup.domain, human(in.setup.network, "B/s"))},
      {"kernels", in.provenance}};
  for (const auto& [store, outcome] : in.outcomes) {
    if (!outcome) continue;
    for (const std::string& text : outcome->overrides) r.header.emplace_back("as_published", text);
    if (store == Store::pool)
      r.header.emplace_back("pool rate",
                            human(outcome->row_rate, "B/s") + " of rows, limited by " + outcome->row_limit);
  }
  if (std::none_of(r.header.begin(), r.header.end(), [](const auto& h) { return h.first == "as_published"; })) {
    r.header.emplace_back("as_published", "none: every rate is within the cuts of its path");
  }
  add_metrics(r, in);
  add_constants(r, in);
  for (const auto& [store, outcome] : in.outcomes) r.cases.push_back(make_case(r, in, store, outcome));
  for (const report::Case& c : r.cases) {
    if (c.id == "nvlink" && c.refusal.empty()) r.baseline = c.id;
  }
  for (std::size_t i = 0; r.baseline.empty() && i < r.cases.size(); ++i) {
    if (r.cases[i].refusal.empty()) r.baseline = r.cases[i].id;
  }
  report::derive(r);
  const std::vector<std::string> rests_on = assumptions(in.setup);
  for (report::Metric& m : r.metrics) {
    if (m.formula.empty()) m.assumptions = rests_on;
    m.source = "recommendation/step.h";
  }
  add_digest(r);
  r.tables = {results_table(r, in), parts_table(r, in)};
  std::string text = "Assumptions.";
  for (const std::string& a : rests_on) text += " " + a + ".";
  r.reading = {fmt::format("Gains are over {}.", r.baseline), std::move(text)};
  return r;
}

report::Report map_report(const config::Document<Scenario>& doc, const Map& map, std::string_view version) {
  Report r;
  add_identity(r, doc, version);
  r.header = {{"map", fmt::format("pooling with {} of {} equal tables: pool against NVLink, same batch and GPUs",
                                  human(map.table_bytes, "B"), map.tables)},
              {"gpu", doc.value.cluster.gpu},
              {"kernels", map.provenance},
              {"as_published",
               "rates above 0.9 TB/s per GPU are beyond a port of the appliance, above 14.4 TB/s beyond all of it"}};
  Columns columns{r};
  columns.add("baseline_pooling_time", "Pooling of the NVLink baseline", "s", "Outcome::pooling");
  for (const double rate : map_rates()) {
    columns.add(fmt::format("gain_{:g}", rate / 1e9), fmt::format("Gain at {}", rate_text(rate)), "times",
                "baseline over pool");
  }
  columns.add("iso_rate", "Rate at which the gain is 22.8", "B/s", "c / (t_baseline / 22.8 - a), map.h");
  columns.add("baseline_fits", "Whether the baseline holds the tables", "count", "1: yes");
  r.constants = {
      {"published_gain", "Published gain", kPublishedGain, "times", "arXiv 2507.14000, section 7"},
      {"port_rate", "A port of the appliance", kPortRate, "B/s", "arXiv 2507.14000, section 3.3: 7.2 Tb/s"},
      {"appliance_rate", "All ports of it", kApplianceRate, "B/s", "arXiv 2507.14000, section 3.3: 16 x 7.2 Tb/s"}};
  for (const MapCell& cell : map.cells) {
    report::Case c;
    c.id = c.name = cell_name(cell);
    c.kind = "cell";
    c.values.push_back(cell.baseline);
    for (const double gain : cell.gains) c.values.push_back(gain);
    c.values.push_back(cell.rate);
    c.values.push_back(cell.baseline_fits ? 1 : 0);
    Digest digest;
    for (const auto& value : c.values) digest.add(value ? report::exact(*value) : "none");
    c.digest = digest.hex();
    r.cases.push_back(std::move(c));
  }
  const std::vector<std::string> rests_on = assumptions(map.setup);
  for (report::Metric& m : r.metrics) m.assumptions = rests_on;
  add_digest(r);
  r.tables.push_back(iso_table(map, 128, Format::fp32, 512));
  r.tables.push_back(iso_table(map, 128, Format::fp32, 4096));
  r.tables.push_back(iso_table(map, 64, Format::fp16, 512));
  r.tables.push_back(iso_table(map, 256, Format::fp32, 64));
  r.tables.front().notes = {
      "*: more than a port (0.9 TB/s); **: more than an appliance (14.4 TB/s); never: the part of the "
      "pool's time that does not depend on its rate is already longer",
      "in parentheses: the GPUs of the baseline cannot hold the tables beside the batch, so there is no such baseline"};
  r.tables.push_back(share_table(map));
  std::string text = "Assumptions.";
  for (const std::string& a : rests_on) text += " " + a + ".";
  r.reading = {
      "22.8x is a property of the baseline: it comes out where many GPUs send row-wise partial sums of few lookups "
      "each "
      "over NICs, and vanishes with table-wise sharding, larger pooling factors, or one NVLink domain. --format csv or "
      "json has every cell with its gains and the rate that it takes.",
      std::move(text)};
  return r;
}

Result<std::vector<sensitivity::Metric>> evaluate_dlrm(const std::string& file, const std::vector<std::string>& sets,
                                                       const catalog::Catalog& catalog,
                                                       sensitivity::Declarations& said) {
  PR_ASSIGN(const auto doc, load_scenario(file, sets, catalog));
  PR_ASSIGN(const Comparison in, compare(doc.value, catalog));
  std::vector<sensitivity::Metric> metrics;
  const Outcome* baseline = nullptr;
  for (const auto& [store, outcome] : in.outcomes) {
    if (store == Store::nvlink && outcome) baseline = &*outcome;
  }
  for (const auto& [store, outcome] : in.outcomes) {
    if (!outcome) continue;
    const std::string name = config::enum_name(store);
    for (const std::string& text : outcome->overrides) said.add("OVERRIDE", "as_published: " + text);
    said.add("basis", fmt::format("{}: kernels {}", name, operators::name_of(outcome->basis)));
    metrics.push_back({name + "/step_time", outcome->step, "s"});
    metrics.push_back({name + "/pooling_time", outcome->pooling, "s"});
    metrics.push_back({name + "/samples_per_second", outcome->samples_per_second, "count"});
    metrics.push_back({name + "/device_memory", outcome->memory.device(), "B"});
    if (const Energy energy = energy_of(in.setup, *outcome); energy.known)
      metrics.push_back({name + "/gpu_energy", energy.step, "J"});
    if (baseline == nullptr || store == Store::nvlink) continue;
    metrics.push_back({name + "/step_gain", baseline->step / outcome->step, "times"});
    metrics.push_back({name + "/pooling_gain", baseline->pooling / outcome->pooling, "times"});
  }
  return metrics;
}

}  // namespace photonrail::recommendation

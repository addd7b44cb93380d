#include "energy/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/units_text.h"
#include "report/human.h"
#include "sensitivity/report.h"

namespace photonrail::energy {
namespace {

using report::human;
using report::Report;

constexpr double kPico = 1e12;
constexpr std::int64_t kMostSwitches = 5;  // of the closed-form grid
constexpr const char* kPaper = "arXiv 2507.14000, section 4.2";

std::string pico(double joules) { return fmt::format("{:.4g}", joules * kPico); }
std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

void add_header(Report& r, const ReportInputs& in) {
  const StepEnergy& e = in.energy;
  r.header.emplace_back(
      "step", fmt::format("{} {} GPUs, {} ({}), {} products, {} operations", e.gpus, in.work.gpu, human(e.seconds, "s"),
                          in.work.seconds_source, operators::name_of(in.work.dtype), human(in.work.flops, "FLOP")));
  r.header.emplace_back("traffic", fmt::format("{} inside scale-up domains, {} between them",
                                               human(in.work.inside(), "B"), human(in.work.outside(), "B")));
  r.header.emplace_back("paths", fmt::format("{} electrical switches between nodes, {} photonic; {} per GPU",
                                             e.electrical_switches, e.photonic_switches, human(e.rate / 8, "B/s")));
  r.header.emplace_back("basis",
                        "per-bit constants as published; power of components from data sheets and stated ranges; "
                        "none was fitted to a measured power");
  r.header.emplace_back("as_published",
                        "none: every rate of this report is physical; only the per-bit tables are the paper's");
  if (e.capped)
    r.header.emplace_back("note", "the stated work would draw more than the GPU's limit; its energy is cut to it");
}

// ---- metrics and cases ----

struct Columns {
  Report& r;

  std::size_t metric(const std::string& id, const std::string& label, const std::string& unit, const std::string& rule,
                     const std::string& formula = "", const std::string& source = "",
                     std::vector<std::string> assumptions = {}) {
    if (const auto found = report::find_metric(r, id)) return *found;
    r.metrics.push_back({id, label, unit, formula, rule, std::move(assumptions), source});
    return r.metrics.size() - 1;
  }
};

void put(report::Case& c, std::size_t metric, double value) {
  if (c.values.size() <= metric) c.values.resize(metric + 1);
  c.values[metric] = value;
}

report::Case new_case(std::string id, std::string name, const char* kind) {
  report::Case c;
  c.id = std::move(id);
  c.name = std::move(name);
  c.kind = kind;
  return c;
}

void add_main_cases(Report& r, const ReportInputs& in) {
  Columns columns{r};
  const StepEnergy& e = in.energy;
  r.constants.push_back({"step_time", "Time of the step", e.seconds, "s", in.work.seconds_source});
  r.constants.push_back({"tokens", "Tokens of the step", e.tokens, "count", "of the scenario"});
  r.constants.push_back(
      {"utilisation", "Load of the network's injection rate", e.utilisation, "ratio", "8 B_outside / (N R t)"});
  const auto path =
      columns.metric("path_energy", "Energy of a bit between nodes", "J", "two endpoints and the switches", "", kPaper);
  const auto tray = columns.metric("tray_energy", "Energy of a bit inside the domain", "J", "one constant", "", kPaper);
  const auto traffic = columns.metric("traffic_energy", "Energy of the step's traffic, per bit", "J",
                                      "8 (B_outside path_energy + B_inside tray_energy)", "", kPaper,
                                      {"no power without traffic: links and switches are taken to cost by the bit",
                                       "rings pass their bytes in the order of their members"});
  columns.metric("saving", "Saving of traffic energy", "ratio", "as the paper states it",
                 "1 - traffic_energy / baseline.traffic_energy", kPaper,
                 {"a photonic transceiver of 5 pJ/bit stands against a whole adapter of 65 pJ/bit, unless "
                  "published.protocol_engine is set"});
  const auto step =
      columns.metric("step_energy", "Energy of the step, all components", "J", "sum of the parts, static and dynamic",
                     "", "docs/models/energy.md; constants of this report",
                     {"the best measured matrix product runs at the power limit",
                      "processors, fans and switch chips at constant shares, see the ranges of the constants",
                      "the scale-up domain is electrical in both cases"});
  const auto network =
      columns.metric("network_power", "Power of adapters, modules, switches", "W", "static share and load");
  columns.metric("power", "Power of the whole", "W", "average over the step", "step_energy / step_time");
  if (e.tokens > 0) columns.metric("token_energy", "Energy of a token", "J/token", "training", "step_energy / tokens");
  columns.metric("step_saving", "Saving of the whole step", "ratio", "all components",
                 "1 - step_energy / baseline.step_energy");
  report::Case electrical = new_case("electrical", "electrical", "electrical");
  report::Case photonic = new_case("photonic", "photonic", "photonic");
  double photonic_network = 0;
  for (const Part& part : e.parts) photonic_network += part.network ? part.photonic : 0;
  put(electrical, path, e.path.electrical), put(photonic, path, e.path.photonic);
  put(electrical, tray, e.tray.electrical), put(photonic, tray, e.tray.photonic);
  put(electrical, traffic, e.paper.electrical), put(photonic, traffic, e.paper.photonic);
  put(electrical, step, e.total_electrical()), put(photonic, step, e.total_photonic());
  put(electrical, network, e.network_watts), put(photonic, network, photonic_network / e.seconds);
  electrical.values.resize(r.metrics.size());
  photonic.values.resize(r.metrics.size());
  r.baseline = "electrical";
  r.cases = {electrical, photonic};
  report::derive(r);
}

// Every metric of the experiment, so that JSON and CSV hold all numbers of the tables.
void add_all_metrics(Report& r, const StepEnergy& e) {
  report::Case all = new_case("all", "every metric of the step", "comparison");
  Columns columns{r};
  for (const sensitivity::Metric& m : metrics_of(e)) {
    if (report::find_metric(r, m.name)) continue;
    put(all, columns.metric(m.name, m.name, m.unit, "see docs/models/energy.md"), m.value);
  }
  r.cases.push_back(std::move(all));
}

// ---- tables ----

void add_grid(Report& r, const PublishedConstants& c) {
  report::Table t;
  t.title = "Energy of a bit between nodes, pJ, by switches crossed (closed form of the published constants)";
  t.columns = {{"Switches"},         {"Electrical"}, {"Photonic"},      {"Saving"},
               {"One photonic hop"}, {"Saving"},     {"Photonic tray"}, {"Saving"}};
  Columns columns{r};
  const auto electrical_id =
      columns.metric("grid_electrical", "Electrical path", "J", "2 adapter + k switch", "", kPaper);
  const auto photonic_id =
      columns.metric("grid_photonic", "Photonic path", "J", "2 (transceiver + engine) + k switch", "", kPaper);
  const auto saving_id = columns.metric("grid_saving", "Saving", "ratio", "like for like");
  const auto hop_id = columns.metric("grid_hop_saving", "Saving with one photonic hop", "ratio",
                                     "k electrical against one photonic switch");
  const auto tray_id = columns.metric("grid_tray_saving", "Saving inside one tray", "ratio",
                                      "k electrical switches against the photonic tray");
  for (std::int64_t k = 1; k <= kMostSwitches; ++k) {
    const PathEnergy same = path_energy(c, k, k), hop = path_energy(c, k, 1);
    const PathEnergy tray = {same.electrical, c.photonic_tray.joules};
    t.rows.push_back({fmt::format("{}", k), pico(same.electrical), pico(same.photonic), percent(same.saving()),
                      pico(hop.photonic), percent(hop.saving()), pico(tray.photonic), percent(tray.saving())});
    report::Case row = new_case(fmt::format("switches={}", k), fmt::format("{} switches", k), "grid");
    put(row, electrical_id, same.electrical), put(row, photonic_id, same.photonic), put(row, saving_id, same.saving());
    put(row, hop_id, hop.saving()), put(row, tray_id, tray.saving());
    r.cases.push_back(std::move(row));
  }
  t.notes.push_back("The saving holds for any traffic: no workload enters it.");
  r.tables.push_back(std::move(t));
}

void add_engine_table(Report& r, PublishedConstants c) {
  c.protocol_engine = {25e-12};
  report::Table t;
  t.title =
      "The same with a protocol engine of 25 pJ/bit in each photonic endpoint (like for like with the 65 pJ adapter)";
  t.columns = {{"Switches"}, {"Electrical"}, {"Photonic"}, {"Saving"}};
  for (std::int64_t k = 1; k <= kMostSwitches; ++k) {
    const PathEnergy same = path_energy(c, k, k);
    t.rows.push_back({fmt::format("{}", k), pico(same.electrical), pico(same.photonic), percent(same.saving())});
  }
  r.tables.push_back(std::move(t));
}

void add_flows(Report& r, const StepEnergy& e) {
  report::Table t;
  t.title = "Traffic of the step and its energy by the per-bit constants";
  t.columns = {{"Traffic", false}, {"Calls"},    {"Inside domains"}, {"Between"},
               {"Electrical"},     {"Photonic"}, {"Saving"}};
  for (const FlowEnergy& f : e.flows) {
    t.rows.push_back({flow_name(f.flow), f.flow.calls > 0 ? report::with_separators(f.flow.calls) : "-",
                      human(f.flow.inside, "B"), human(f.flow.outside, "B"), human(f.joules.electrical, "J"),
                      human(f.joules.photonic, "J"), percent(f.joules.saving())});
  }
  t.rows.push_back(
      {"all", "", "", "", human(e.paper.electrical, "J"), human(e.paper.photonic, "J"), percent(e.paper.saving())});
  r.tables.push_back(std::move(t));
}

void add_parts(Report& r, const StepEnergy& e) {
  report::Table t;
  t.title = "Energy of the step by components, static and dynamic";
  t.columns = {{"Part", false}, {"Electrical network"}, {"Share"}, {"Average power"}, {"Photonic network"}};
  const double total = e.total_electrical();
  for (const Part& part : e.parts) {
    t.rows.push_back({part.name, human(part.electrical, "J"), percent(part.electrical / total),
                      human(part.electrical / e.seconds, "W"), human(part.photonic, "J")});
  }
  t.rows.push_back({"all", human(total, "J"), "100 %", human(total / e.seconds, "W"), human(e.total_photonic(), "J")});
  t.notes.push_back(
      fmt::format("GPU {} on average; node of {} GPUs {} at the plug. Network load {} of the injection rate.",
                  human(e.gpu_watts, "W"), e.node_gpus, human(e.node_watts, "W"), percent(e.utilisation)));
  if (e.tokens > 0) {
    t.notes.push_back(fmt::format("Energy of a token: {}, with the photonic network {}.",
                                  human(total / e.tokens, "J/token"), human(e.total_photonic() / e.tokens, "J/token")));
  }
  r.tables.push_back(std::move(t));
}

void add_constants(Report& r, const EnergyScenario& scenario) {
  report::Table t;
  t.title = "Constants: values, ranges and sources";
  t.columns = {{"Constant", false}, {"Value"}, {"Low"}, {"High"}, {"", false}, {"Source of the range", false}};
  for (const ConstantRange& c : constant_ranges()) {
    const bool joules = c.unit == "J";
    const double scale = joules ? kPico : 1, value = constant_value(scenario, c.path);
    t.rows.push_back({std::string(c.path), fmt::format("{:.4g}", value * scale), fmt::format("{:.4g}", c.low * scale),
                      fmt::format("{:.4g}", c.high * scale), joules ? "pJ/bit" : std::string(c.unit),
                      std::string(c.source)});
    r.constants.push_back({std::string(c.path), fmt::format("range {:.4g} .. {:.4g}", c.low * scale, c.high * scale),
                           value, std::string(c.unit), std::string(c.source)});
  }
  r.tables.push_back(std::move(t));
}

// ---- sensitivity ----

// The value of each published constant at which the saving is 60 % (the paper's low end), and at which it is nothing.
Status add_break_evens(Report& r, const ReportInputs& in) {
  report::Table t;
  t.title = "Break-even of each published constant, the others as they are";
  t.columns = {{"Constant", false}, {"Now, pJ"}, {"Saving 60 % at"}, {"Saving 0 at"}};
  constexpr double kHighest = 500e-12;
  for (const ConstantRange& constant : constant_ranges()) {
    const std::string path(constant.path);
    if (!path.starts_with("published.")) continue;
    sensitivity::Parameter p;
    p.path = path;
    p.quantity = Quantity::energy;
    p.high = kHighest;
    std::vector<std::string> row = {path, pico(constant_value(in.doc.value, path))};
    for (const double target : {0.6, 0.0}) {
      PR_ASSIGN(const sensitivity::BreakEven b, sensitivity::break_even(in.experiment, p, "saving", target));
      row.push_back(b.at ? b.text : fmt::format("none ({} .. {})", percent(b.value_low), percent(b.value_high)));
      report::Case c = new_case(fmt::format("break_even/{}/{}", path, target), path, "break_even");
      Columns columns{r};
      const auto at =
          columns.metric("break_even", "Value at which the saving is the target", "J", "bisection over 0 .. 500 pJ");
      if (b.at)
        put(c, at, *b.at);
      else
        c.refusal = b.reading;
      r.cases.push_back(std::move(c));
    }
    t.rows.push_back(std::move(row));
  }
  t.notes.push_back(
      "None: the saving does not reach the target for any value from 0 to 500 pJ; its ends are in brackets.");
  r.tables.push_back(std::move(t));
  return {};
}

Status add_sensitivity(Report& r, const ReportInputs& in) {
  const std::vector<sensitivity::Parameter> published = constant_parameters("published");
  const std::vector<sensitivity::Parameter> all = constant_parameters("");
  const std::vector<std::string> saving = {"saving"}, whole = {"step_energy", "step_saving"};
  PR_ASSIGN(const auto of_saving, sensitivity::tornado(in.experiment, published, saving, in.run));
  sensitivity::add_tornado(r, of_saving);
  PR_TRY(add_break_evens(r, in));
  PR_ASSIGN(const auto of_step, sensitivity::tornado(in.experiment, all, whole, in.run));
  sensitivity::add_tornado(r, of_step);
  const Sampling& sampling = in.doc.value.sampling;
  if (sampling.samples == 0) return {};
  const sensitivity::MonteCarloOptions what{static_cast<std::size_t>(sampling.samples), sampling.seed, "group/"};
  const std::vector<std::string> metrics = {"saving", "step_saving", "step_energy", "node_power", "network_power"};
  PR_ASSIGN(const auto spread, sensitivity::monte_carlo(in.experiment, all, metrics, what, in.run));
  sensitivity::add_monte_carlo(r, spread, all, what);
  return {};
}

// What readers came for, ahead of everything that it rests on.
void put_conclusion_first(Report& r, const StepEnergy& e) {
  report::Table t{"Saving of the photonic network", {{"", false}, {"saving"}}, {}, {}};
  t.rows.push_back({"of the traffic's energy, by the published constants per bit", percent(e.paper.saving())});
  t.rows.push_back({"of the whole step's energy, static power included",
                    percent(1 - e.total_photonic() / e.total_electrical())});
  r.tables.insert(r.tables.begin(), std::move(t));
}

void add_reading(Report& r, const StepEnergy& e) {
  r.reading.push_back(fmt::format(
      "By the published constants the photonic network saves {} of the traffic's energy. That is a statement about the "
      "constants: it lies between the {} of a bit between nodes and the {} of a bit inside a domain, whatever runs.",
      percent(e.paper.saving()), percent(e.path.saving()), percent(e.tray.saving())));
  r.reading.push_back(fmt::format(
      "Switches, adapters and modules draw nearly full power without traffic. With {} of the injection rate in use, "
      "the "
      "per-bit constants see {} in the switches; switches and modules outside the nodes draw {}. The network is {} of "
      "the step's energy, so the whole step saves {}.",
      percent(e.utilisation), human(e.per_bit_watts, "W"), human(e.network_outside_watts, "W"),
      percent(e.network_watts * e.seconds / e.total_electrical()),
      percent(1 - e.total_photonic() / e.total_electrical())));
}

}  // namespace

std::vector<sensitivity::Parameter> constant_parameters(std::string_view table) {
  std::vector<sensitivity::Parameter> parameters;
  for (const ConstantRange& c : constant_ranges()) {
    if (!c.path.starts_with(table)) continue;
    sensitivity::Parameter p;
    p.path = c.path;
    if (c.unit == "J") p.quantity = Quantity::energy;
    if (c.unit == "W") p.quantity = Quantity::power;
    p.low = c.low;
    p.high = c.high;
    parameters.push_back(std::move(p));
  }
  return parameters;
}

Result<report::Report> energy_report(const ReportInputs& in) {
  Report r;
  r.command = "energy";
  r.version = in.version;
  r.scenario_name = in.doc.value.name;
  r.scenario_text = config::show_document(in.doc);
  r.seed = in.doc.value.sampling.seed;
  Digest scenario;
  scenario.add(config::canonical_document(in.doc.value));
  r.scenario_hash = scenario.hex();
  add_header(r, in);
  add_main_cases(r, in);
  add_all_metrics(r, in.energy);
  add_grid(r, in.doc.value.published);
  add_engine_table(r, in.doc.value.published);
  add_flows(r, in.energy);
  add_parts(r, in.energy);
  PR_TRY(add_sensitivity(r, in));
  add_constants(r, in.doc.value);
  put_conclusion_first(r, in.energy);
  add_reading(r, in.energy);
  sensitivity::finish(r);
  Digest digest;
  for (const report::Case& c : r.cases) {
    digest.add(c.id);
    for (const auto& value : c.values) digest.add(value ? report::exact(*value) : std::string());
  }
  r.digest = digest.hex();
  return r;
}

}  // namespace photonrail::energy

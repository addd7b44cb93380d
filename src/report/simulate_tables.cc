#include "report/simulate_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/human.h"

namespace photonrail::report {
namespace {

constexpr std::string_view kCommandsNote =
    "commands: one for each group or pair of ranks whose circuits change, on every rail, so more than windows.";

std::string cell(const Report& report, const Case& c, std::string_view metric) {
  const std::optional<std::size_t> index = find_metric(report, metric);
  return index ? human(c.values[*index], report.metrics[*index].unit) : "-";
}

bool swept(const Case& c) { return c.switching_time.has_value(); }

std::vector<Time> times_of(const Report& report) {
  std::vector<Time> times;
  for (const Case& c : report.cases) {
    if (swept(c)) times.push_back(*c.switching_time);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

std::vector<std::string> swept_names(const Report& report) {
  std::vector<std::string> names;
  for (const Case& c : report.cases) {
    if (swept(c) && std::find(names.begin(), names.end(), c.name) == names.end()) names.push_back(c.name);
  }
  return names;
}

const Case* case_at(const Report& report, const std::string& name, Time time) {
  for (const Case& c : report.cases) {
    if (c.name == name && c.switching_time == time) return &c;
  }
  return nullptr;
}

// One line a case: those that no switching time applies to, or all when only one time was tried.
Table overview(const Report& report, bool all) {
  Table table;
  table.title = all ? "Step" : "Step: fabrics and plans that never switch";
  table.columns = {{"", false},    {"step time"}, {"overhead"}, {"compute"},
                   {"comm.+wait"}, {"MFU"},       {"tokens/s"}, {"energy/step"}};
  for (const Case& c : report.cases) {
    if (!all && swept(c)) continue;
    if (!c.refusal.empty()) continue;
    table.rows.push_back(
        {c.id, cell(report, c, "iteration_time"), c.id == report.baseline ? "baseline" : cell(report, c, "overhead"),
         cell(report, c, "compute_time"), cell(report, c, "exposed_communication"), cell(report, c, "mfu"),
         human(value_of(report, c, "tokens_per_second"), "count"), cell(report, c, "energy_per_step")});
  }
  if (table.rows.empty()) return table;
  table.notes = {
      "compute, comm.+wait: means over ranks of the time in and out of compute tasks, waiting included. The step ends "
      "with the last rank, so they do not add up to it."};
  return table;
}

Table refusals(const Report& report) {
  Table table;
  std::string before;  // reason of the note that stands last: neighbours that share it share the note
  for (const Case& c : report.cases) {
    if (c.refusal.empty()) continue;
    std::string reason = c.refusal;
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    if (reason == before) {
      table.notes.back().insert(table.notes.back().size() - reason.size() - 2, ", " + c.id);
    } else {
      table.notes.push_back(fmt::format("{}: {}", c.id, reason));
    }
    before = std::move(reason);
  }
  if (!table.notes.empty()) table.title = "Not possible";
  return table;
}

// A row for each policy, a column for each switching time.
Table matrix(const Report& report, const std::string& title, std::string_view metric) {
  Table table;
  table.title = title;
  table.columns = {{"switching time", false}};
  const std::vector<Time> times = times_of(report);
  for (const Time t : times) table.columns.push_back({time_label(t), true});
  for (const std::string& name : swept_names(report)) {
    std::vector<std::string> row{name};
    for (const Time t : times) {
      const Case* c = case_at(report, name, t);
      row.push_back(c == nullptr ? "" : c->refusal.empty() ? cell(report, *c, metric) : "refused");
    }
    if (std::any_of(row.begin() + 1, row.end(), [](const std::string& text) { return text != "-"; })) {
      table.rows.push_back(row);
    }
  }
  return table;
}

Table switching_table(const Report& report) {
  Table table;
  table.title = "Switching";
  table.columns = {{"", false},      {"commands"},    {"ahead"},       {"ports changed"},
                   {"exposed, sum"}, {"hidden, sum"}, {"mispredicted"}};
  for (const Case& c : report.cases) {
    if (c.kind != "photonic" || !c.refusal.empty()) continue;
    table.rows.push_back({c.id, cell(report, c, "switch_commands"), cell(report, c, "switch_commands_ahead"),
                          cell(report, c, "ports_changed"), cell(report, c, "exposed_switch_time"),
                          cell(report, c, "hidden_switch_time"), cell(report, c, "mispredictions")});
  }
  if (table.rows.empty()) return table;
  table.notes = {std::string(kCommandsNote),
                 "exposed, hidden: sums over the commands of all rails, which overlap, so they may exceed the step."};
  return table;
}

// Windows of a run with switching are those that its own switching has moved.
bool switches(const Report& report, const Case& c) {
  return c.refusal.empty() && value_of(report, c, "switch_commands").value_or(0) > 0;
}

bool shown_in_windows(const Report& report, const Case& c, const std::vector<Time>& times) {
  if (!c.refusal.empty() || !value_of(report, c, "windows")) return false;
  return !swept(c) || c.switching_time == times.front() || c.switching_time == times.back();
}

Table windows_table(const Report& report) {
  Table table;
  table.title = "Windows between phases on the rails";
  table.columns = {{"", false}, {"count"}, {"negative"}, {"short"}, {"p5"}, {"p25"}, {"median"}, {"p75"}, {"p95"}};
  const std::vector<Time> times = times_of(report);
  for (const Case& c : report.cases) {
    if (!shown_in_windows(report, c, times)) continue;
    table.rows.push_back({c.id, cell(report, c, "windows"), cell(report, c, "windows_negative"),
                          cell(report, c, "windows_short_share"), cell(report, c, "window_p5"),
                          cell(report, c, "window_p25"), cell(report, c, "window_p50"), cell(report, c, "window_p75"),
                          cell(report, c, "window_p95")});
  }
  if (table.rows.empty()) return table;
  std::string note = "short: below the case's switching time.";
  if (times.size() > 2) note += " The first and the last switching time are shown; JSON and CSV have all.";
  table.notes = {note};
  if (std::any_of(report.cases.begin(), report.cases.end(), [&](const Case& c) { return switches(report, c); })) {
    table.notes.push_back(
        "Windows of runs that switch contain the delays of their own switching; those of the baseline do not.");
  }
  return table;
}

const Case* first_with_result(const Report& report) {
  if (const Case* c = find_case(report, report.baseline); c != nullptr && c->refusal.empty()) return c;
  for (const Case& c : report.cases) {
    if (c.refusal.empty()) return &c;
  }
  return nullptr;
}

Table traffic_table(const Report& report) {
  Table table;
  table.columns = {{"", false}, {"bytes"}};
  const Case* c = first_with_result(report);
  if (c == nullptr) return table;
  table.title = fmt::format("Traffic of one step, all GPUs ({})", c->id);
  for (const char* name : {"tensor", "data", "pipeline", "context", "expert", "other", "rails"}) {
    const std::string id = fmt::format("bytes_{}", name);
    const double bytes = value_of(report, *c, id).value_or(0);
    if (std::fpclassify(bytes) != FP_ZERO) table.rows.push_back({name, human(bytes, "B")});
  }
  if (table.rows.empty()) return table;
  table.notes = {"rails: the part of all of these that crosses the scale-out network"};
  return table;
}

std::string cost_range(const NetworkCost& n) {
  const std::string low = human(n.low.amount, "USD");
  const std::string high = human(n.high.amount, "USD");
  return low == high ? "" : low + " to " + high;
}

std::string power_range(const NetworkCost& n) {
  if (n.power_low.watts >= n.power_high.watts) return "";
  return human(n.power_low.watts, "W") + " to " + human(n.power_high.watts, "W");
}

// Each once, as fabrics share parts.
void add_figure_notes(Table& table, const std::vector<NetworkCost>& networks) {
  for (const NetworkCost& n : networks) {
    const bool said = std::find(table.notes.begin(), table.notes.end(), n.note) != table.notes.end();
    if (!n.note.empty() && !said) table.notes.push_back(n.note);
  }
}

std::string times(double of, double by) { return by > 0 ? human(of / by, "times") : "-"; }

// The network that the ratios are against: the baseline's, by its cost and power.
const NetworkCost* baseline_network(const Report& report, const std::vector<NetworkCost>& networks) {
  const Case* base = find_case(report, report.baseline);
  for (const NetworkCost& n : networks) {
    if (base != nullptr && n.shortfall.empty() && (n.key == base->name)) return &n;
  }
  return nullptr;
}

Table network_table(const Report& report, const std::vector<NetworkCost>& networks) {
  Table table;
  table.title = "Scale-out network";
  table.columns = {{"", false}, {"cost"}, {"range"}, {"cheaper"}, {"power"}, {"range"}, {"less"}};
  const NetworkCost* base = baseline_network(report, networks);
  for (const NetworkCost& n : networks) {
    if (!n.shortfall.empty()) {
      table.notes.push_back(fmt::format("{}: {}", n.title, n.shortfall));
      continue;
    }
    table.rows.push_back({n.title, human(n.base.amount, "USD"), cost_range(n),
                          base == nullptr ? "-" : times(base->base.amount, n.base.amount), human(n.power.watts, "W"),
                          power_range(n), base == nullptr ? "-" : times(base->power.watts, n.power.watts)});
  }
  if (base != nullptr)
    table.notes.insert(table.notes.begin(), fmt::format("cheaper, less: times, than {}", base->title));
  add_figure_notes(table, networks);
  table.notes.push_back("`photonrail cost` has the bills of materials and what moves the ratios");
  return table;
}

void add_matrices(const Report& report, std::vector<Table>& tables) {
  tables.push_back(matrix(report, "Step time by switching time", "iteration_time"));
  tables.push_back(matrix(report, fmt::format("Overhead against {}", report.baseline), "overhead"));
  tables.push_back(matrix(report, "Model FLOP/s utilisation", "mfu"));
  tables.push_back(matrix(report, "Energy of one step, GPUs and network", "energy_per_step"));
  tables.push_back(matrix(report, "Switch commands, all rails", "switch_commands"));
  tables.back().notes = {std::string(kCommandsNote)};
  tables.push_back(matrix(report, "Exposed switch time, mean of commands", "exposed_per_command"));
  tables.push_back(matrix(report, "Hidden switch time, mean of commands", "hidden_per_command"));
  tables.push_back(matrix(report, "Wait of operations on rails, mean", "wait_per_operation"));
  tables.push_back(matrix(report, "Windows shorter than the switching time", "windows_short_share"));
}

}  // namespace

std::vector<Table> simulate_tables(const Report& report, const std::vector<NetworkCost>& networks) {
  const bool sweep = times_of(report).size() > 1;
  std::vector<Table> tables{overview(report, !sweep)};
  if (sweep) add_matrices(report, tables);
  if (!sweep) tables.push_back(switching_table(report));
  tables.push_back(windows_table(report));
  tables.push_back(traffic_table(report));
  tables.push_back(network_table(report, networks));
  tables.push_back(refusals(report));
  std::erase_if(tables, [](const Table& t) { return t.rows.empty() && t.notes.empty(); });
  return tables;
}

}  // namespace photonrail::report

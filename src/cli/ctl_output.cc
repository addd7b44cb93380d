#include "cli/ctl_output.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace photonrail::cli {
namespace {

namespace json = boost::json;

std::string yes(bool b) { return b ? "yes" : "no"; }
std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string ocs_name(daemon::SwitchId ocs, const wire::SwitchNames& names) {
  return ocs < names.size() ? names[ocs] : fmt::format("#{}", ocs);
}

report::Table switch_table(const daemon::StatusReport& status) {
  report::Table table{"Switches",
                      {{"switch", false},
                       {"dialect", false},
                       {"state", false},
                       {"ready", false},
                       {"maintenance", false},
                       {"serial", false},
                       {"intents"},
                       {"failed"},
                       {"alarms"},
                       {"ports out of service", false}},
                      {},
                      {}};
  for (const daemon::SwitchStatus& s : status.switches) {
    std::string out;
    for (const auto& [position, why] : s.out_of_service) {
      out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", position, why);
    }
    table.rows.push_back({s.name, s.dialect, or_dash(s.state), yes(s.ready), yes(s.maintenance), or_dash(s.serial),
                          std::to_string(s.intents), std::to_string(s.failed), std::to_string(s.alarms), or_dash(out)});
  }
  return table;
}

report::Table circuit_table(const daemon::StatusReport& status, const wire::SwitchNames& names) {
  report::Table table{"Circuits",
                      {{"switch", false},
                       {"in"},
                       {"out"},
                       {"intended", false},
                       {"applied", false},
                       {"light", false},
                       {"power, dBm"},
                       {"job", false},
                       {"holds"}},
                      {},
                      {}};
  for (const daemon::CircuitStatus& c : status.circuits) {
    table.rows.push_back({ocs_name(c.ocs, names), std::to_string(c.pair.in), std::to_string(c.pair.out),
                          yes(c.intended), yes(c.applied), device::name(c.light),
                          c.power_dbm ? fmt::format("{:.2f}", *c.power_dbm) : "-", or_dash(c.job),
                          std::to_string(c.holds)});
  }
  if (table.rows.empty()) table.notes.push_back("no circuits");
  return table;
}

report::Table job_table(const daemon::StatusReport& status) {
  report::Table table{"Jobs",
                      {{"job", false},
                       {"epoch"},
                       {"ranks"},
                       {"attached"},
                       {"lost"},
                       {"groups"},
                       {"waiting"},
                       {"granted"},
                       {"operations"},
                       {"batched"},
                       {"switches"},
                       {"ahead"},
                       {"mispredicted"},
                       {"guard"},
                       {"failed"},
                       {"state", false}},
                      {},
                      {}};
  for (const daemon::JobStatus& j : status.jobs) {
    const auto& c = j.counts;
    std::vector<std::string> row = {j.job};
    for (const std::uint64_t n :
         {j.job_epoch, std::uint64_t{j.ranks}, std::uint64_t{j.attached}, std::uint64_t{j.lost},
          std::uint64_t{j.groups}, std::uint64_t{j.waiting}, std::uint64_t{j.granted}, c.operations, c.batched,
          c.switches, c.switches_ahead, c.mispredictions, c.guard_fired, c.failed}) {
      row.push_back(std::to_string(n));
    }
    row.push_back(j.recovering ? "recovering" : "running");
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) table.notes.push_back("no jobs");
  return table;
}

json::object counts_json(const control::CoordinatorCounts& c) {
  return {{"operations", c.operations},
          {"grants", c.grants},
          {"batched", c.batched},
          {"switches", c.switches},
          {"switches_ahead", c.switches_ahead},
          {"mispredictions", c.mispredictions},
          {"guard_fired", c.guard_fired},
          {"management", c.management},
          {"failed", c.failed},
          {"learnt", c.learnt},
          {"forgotten", c.forgotten}};
}

json::object event_object(const wire::Event& e) {
  return {
      {"time", e.time},          {"level", e.level},         {"who", e.record.who},         {"action", e.record.action},
      {"job", e.record.job},     {"epoch", e.record.epoch},  {"request", e.record.request}, {"before", e.record.before},
      {"after", e.record.after}, {"detail", e.record.detail}};
}

}  // namespace

std::string status_text(const daemon::StatusReport& status, const wire::SwitchNames& names, StatusPart part,
                        const report::TextStyle& style) {
  std::string out;
  if (part == StatusPart::all) {
    out +=
        fmt::format("epoch {}, {}\n\n", status.epoch, status.leading ? "leading" : "not leading: nothing is granted");
    out += report::render_table(switch_table(status), style) + "\n";
  }
  if (part != StatusPart::circuits) out += report::render_table(job_table(status), style);
  if (part == StatusPart::all) out += "\n";
  if (part != StatusPart::jobs) out += report::render_table(circuit_table(status, names), style);
  return out;
}

std::string status_json(const daemon::StatusReport& status, const wire::SwitchNames& names) {
  json::array circuits, jobs, switches;
  for (const daemon::CircuitStatus& c : status.circuits) {
    circuits.push_back(json::object{{"switch", ocs_name(c.ocs, names)},
                                    {"in", c.pair.in},
                                    {"out", c.pair.out},
                                    {"intended", c.intended},
                                    {"applied", c.applied},
                                    {"light", device::name(c.light)},
                                    {"power_dbm", c.power_dbm ? json::value(*c.power_dbm) : json::value(nullptr)},
                                    {"job", c.job},
                                    {"holds", c.holds}});
  }
  for (const daemon::JobStatus& j : status.jobs) {
    jobs.push_back(json::object{{"job", j.job},
                                {"epoch", j.job_epoch},
                                {"ranks", j.ranks},
                                {"attached", j.attached},
                                {"lost", j.lost},
                                {"groups", j.groups},
                                {"waiting", j.waiting},
                                {"granted", j.granted},
                                {"recovering", j.recovering},
                                {"counts", counts_json(j.counts)}});
  }
  for (const daemon::SwitchStatus& s : status.switches) {
    json::array out_of_service;
    for (const auto& [position, why] : s.out_of_service) {
      out_of_service.push_back(json::object{{"position", position}, {"why", why}});
    }
    switches.push_back(json::object{{"switch", s.name},
                                    {"dialect", s.dialect},
                                    {"state", s.state},
                                    {"serial", s.serial},
                                    {"ready", s.ready},
                                    {"maintenance", s.maintenance},
                                    {"intents", s.intents},
                                    {"failed", s.failed},
                                    {"alarms", s.alarms},
                                    {"out_of_service", out_of_service}});
  }
  return json::serialize(json::object{{"epoch", status.epoch},
                                      {"leading", status.leading},
                                      {"switches", switches},
                                      {"jobs", jobs},
                                      {"circuits", circuits}}) +
         "\n";
}

std::string events_text(const std::vector<wire::Event>& events, const report::TextStyle& style) {
  report::Table table{"Audit",
                      {{"time", false},
                       {"who", false},
                       {"action", false},
                       {"job", false},
                       {"epoch"},
                       {"request"},
                       {"before", false},
                       {"after", false},
                       {"detail", false}},
                      {},
                      {}};
  for (const wire::Event& e : events) {
    const daemon::AuditRecord& r = e.record;
    table.rows.push_back({e.time, r.who, r.action, or_dash(r.job), std::to_string(r.epoch),
                          r.request == 0 ? "-" : std::to_string(r.request), or_dash(r.before), or_dash(r.after),
                          or_dash(r.detail)});
  }
  if (events.empty()) table.notes.push_back("nothing found");
  return report::render_table(table, style);
}

std::string events_json(const std::vector<wire::Event>& events) {
  json::array all;
  for (const wire::Event& e : events) all.push_back(event_object(e));
  return json::serialize(all) + "\n";
}

std::string event_json(const wire::Event& event) { return json::serialize(event_object(event)) + "\n"; }

std::string event_line(const wire::Event& e) {
  if (e.level != "audit") return fmt::format("{} {}: {}\n", e.time, e.level, e.record.detail);
  std::string line = fmt::format("{} {} {}", e.time, e.record.who, e.record.action);
  for (const auto& [key, value] : {std::pair{"job", e.record.job},
                                   {"before", e.record.before},
                                   {"after", e.record.after},
                                   {"", e.record.detail}}) {
    if (!value.empty()) line += fmt::format(" {}{}{}", key, *key == '\0' ? "" : " ", value);
  }
  return line + "\n";
}

std::string lines_text(const std::vector<std::string>& lines) { return fmt::format("{}\n", fmt::join(lines, "\n")); }

std::string lines_json(const std::string& key, const std::vector<std::string>& lines) {
  json::array all;
  for (const std::string& line : lines) all.emplace_back(line);
  return json::serialize(json::object{{key, all}}) + "\n";
}

}  // namespace photonrail::cli

#include "analysis/window_report.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "base/units_text.h"

namespace photonrail::analysis {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr std::size_t kSequenceLimit = 40;  // phases, or topology ids, shown on one line of text

char letter(Dimension dimension) {
  switch (dimension) {
    case Dimension::tensor: return 'T';
    case Dimension::data: return 'D';
    case Dimension::pipeline: return 'P';
    case Dimension::context: return 'C';
    case Dimension::expert: return 'E';
    case Dimension::none:
    case Dimension::other: break;
  }
  return 'O';
}

std::string show(Time t) { return photonrail::to_text(t); }
std::string show(Bytes b) { return photonrail::to_text(b); }

// Four significant digits for people; JSON and CSV carry all.
std::string brief(Time t) {
  const double seconds = to_seconds(t);
  const double size = seconds < 0 ? -seconds : seconds;
  if (size >= 1.0) return fmt::format("{:.4g} s", seconds);
  if (size >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  if (size >= 1e-6) return fmt::format("{:.4g} us", seconds * 1e6);
  return t.ps == 0 ? "0" : fmt::format("{:.4g} ns", seconds * 1e9);
}

std::string brief(Bytes b) {
  const auto n = static_cast<double>(b.count);
  if (n >= 1e12) return fmt::format("{:.4g} TB", n * 1e-12);
  if (n >= 1e9) return fmt::format("{:.4g} GB", n * 1e-9);
  if (n >= 1e6) return fmt::format("{:.4g} MB", n * 1e-6);
  if (n >= 1e3) return fmt::format("{:.4g} KB", n * 1e-3);
  return fmt::format("{} B", b.count);
}

std::string kind_name(Dimension from, Dimension to) { return fmt::format("{} -> {}", to_text(from), to_text(to)); }

std::string class_name(const TrafficSummary& c) {
  if (c.high.count == std::numeric_limits<std::int64_t>::max()) return fmt::format(">= {}", show(c.low));
  return fmt::format("{} to {}", show(c.low), show(c.high));
}

std::string percent(std::size_t part, std::size_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void append_summary_head(Out out, std::string_view first, std::string_view shorter) {
  fmt::format_to(out, "  {:<24}{:>8}{:>10}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n", first, "windows", "negative",
                 shorter, "min", "5 %", "median", "95 %", "max");
}

void append_summary(Out out, const std::string& name, const WindowSummary& s) {
  fmt::format_to(out, "  {:<24}{:>8}{:>10}{:>12}", name, s.count, s.negative, percent(s.shorter, s.count));
  for (const double q : {0.0, 0.05, 0.5, 0.95, 1.0})
    fmt::format_to(out, "{:>12}", s.count == 0 ? "-" : brief(s.quantile(q)));
  fmt::format_to(out, "\n");
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> places_of(const WindowAnalysis& analysis) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> places;
  for (const Phase& p : analysis.phases) places.insert({p.rail, p.stage});
  return {places.begin(), places.end()};
}

// Stages of different rails mostly do the same; equal sequences are shown once.
void append_phases(Out out, const WindowAnalysis& analysis) {
  std::vector<std::pair<std::string, std::vector<std::pair<std::uint32_t, std::uint32_t>>>> sequences;
  for (const auto& place : places_of(analysis)) {
    const std::string text = phase_sequence(analysis.phases, place.first, place.second);
    const auto at = std::find_if(sequences.begin(), sequences.end(), [&](const auto& s) {
      return s.first == text && s.second.front().second == place.second;
    });
    if (at == sequences.end()) {
      sequences.push_back({text, {place}});
    } else {
      at->second.push_back(place);
    }
  }
  std::stable_sort(sequences.begin(), sequences.end(),
                   [](const auto& a, const auto& b) { return a.second.front().second < b.second.front().second; });
  fmt::format_to(out, "\nPhases (letter: dimension, number: operations, replicas counted once)\n");
  for (const auto& [text, places] : sequences) {
    const bool alone = places.size() == 1;
    fmt::format_to(out, "  stage {:<3} {:<16} {}\n", places.front().second,
                   alone ? fmt::format("rail {}", places.front().first) : fmt::format("{} rails", places.size()), text);
  }
}

void append_topology(Out out, const WindowReport& report) {
  if (report.topology.empty()) return;
  fmt::format_to(
      out, "\nTopology ids of rail {} (digit per stage, stage 0 first: 0 pipeline, 1 data, 3 expert): {} changes\n ",
      report.topology_rail, report.topology.size() - 1);
  const std::size_t shown = std::min(report.topology.size(), kSequenceLimit);
  for (std::size_t i = 0; i < shown; ++i) fmt::format_to(out, " {}", encode_topology(report.topology[i].digits));
  fmt::format_to(out, "{}\n", shown < report.topology.size() ? " ..." : "");
}

void append_hiding(Out out, const WindowReport& report) {
  const WindowStatistics& s = report.statistics;
  if (s.hiding.empty()) return;
  fmt::format_to(out, "\nWhat a switch finds (exposed, serialised: sums over the windows of all rails and stages)\n");
  fmt::format_to(out, "  {:<24}{:>20}{:>16}{:>16}\n", "switching time", "windows that hide it", "exposed",
                 "serialised");
  for (const HidingSummary& h : s.hiding) {
    fmt::format_to(out, "  {:<24}{:>20}{:>16}{:>16}\n", show(h.switching_time),
                   fmt::format("{} of {}", h.hidden, s.all.count), brief(h.exposed), brief(h.serialised));
  }
  fmt::format_to(out,
                 "  No step gets longer by these sums: rails and stages wait at the same time, and a delay moves what "
                 "follows.\n");
  if (!report.prediction.empty()) fmt::format_to(out, "  What a step takes is predicted by {}\n", report.prediction);
}

void append_break_even(Out out, const WindowReport& report) {
  if (!report.pays_until) return;
  std::string limit = report.pays_for.empty() ? "" : ": " + report.pays_for;
  if (report.break_even_overhead) limit += fmt::format(", overhead of {:.2f} %", *report.break_even_overhead * 100.0);
  switch (report.pays_until->kind) {
    case BreakEven::Kind::never:
      fmt::format_to(out, "\nRails do not pay at any switching time tried{}.\n", limit);
      return;
    case BreakEven::Kind::always: fmt::format_to(out, "\nRails pay at every switching time tried{}.\n", limit); return;
    case BreakEven::Kind::at:
      fmt::format_to(out, "\nRails stop paying at a switching time of {}{}.\n",
                     brief(report.pays_until->switching_time), limit);
  }
}

// -- JSON -------------------------------------------------------------------------------------------------------------

std::string nanoseconds_text(Time t) {
  const bool negative = t.ps < 0;
  const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(t.ps) : static_cast<std::uint64_t>(t.ps);
  std::string text = fmt::format("{}{}", negative ? "-" : "", size / 1000);
  if (size % 1000 != 0) text += fmt::format(".{:03}", size % 1000);
  return text;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

template <class List, class Item>
std::string json_list(const List& list, Item item) {
  std::string text;
  for (const auto& element : list) {
    if (!text.empty()) text += ",\n    ";
    text += item(element);
  }
  return "[\n    " + text + "\n  ]";
}

std::string json_summary(const WindowSummary& s) {
  std::string text = fmt::format("\"windows\": {}, \"negative\": {}, \"shorter\": {}, \"bytes_after\": {}", s.count,
                                 s.negative, s.shorter, s.bytes_after.count);
  std::string quantiles;
  for (std::size_t i = 0; i < s.quantiles.size(); ++i) {
    quantiles += fmt::format("{}{{\"q\": {}, \"window_ns\": {}}}", i == 0 ? "" : ", ", kQuantiles[i],
                             nanoseconds_text(s.quantiles[i]));
  }
  return text + ", \"quantiles\": [" + quantiles + "]";
}

std::string json_phase(const Phase& p) {
  return fmt::format(
      "{{\"rail\": {}, \"stage\": {}, \"dimension\": \"{}\", \"operations\": {}, \"rounds\": {}, \"wire_bytes\": {}, "
      "\"issued_ns\": {}, \"started_ns\": {}, \"finished_ns\": {}}}",
      p.rail, p.stage, to_text(p.dimension), p.operations, p.rounds, p.wire_bytes.count, nanoseconds_text(p.issued),
      nanoseconds_text(p.started), nanoseconds_text(p.finished));
}

std::string json_window(const Window& w) {
  return fmt::format(
      "{{\"rail\": {}, \"stage\": {}, \"from\": \"{}\", \"to\": \"{}\", \"opens_ns\": {}, \"window_ns\": {}, "
      "\"bytes_after\": {}, \"operations_after\": {}}}",
      w.rail, w.stage, to_text(w.from), to_text(w.to), nanoseconds_text(w.opens), nanoseconds_text(w.length),
      w.bytes_after.count, w.operations_after);
}

std::string json_kind(const KindSummary& k) {
  return fmt::format("{{\"from\": \"{}\", \"to\": \"{}\", {}}}", to_text(k.from), to_text(k.to),
                     json_summary(k.summary));
}

std::string json_traffic(const TrafficSummary& t) {
  const bool open = t.high.count == std::numeric_limits<std::int64_t>::max();
  return fmt::format("{{\"bytes_from\": {}, \"bytes_below\": {}, {}}}", t.low.count,
                     open ? "null" : fmt::to_string(t.high.count), json_summary(t.summary));
}

std::string json_hiding(const HidingSummary& h) {
  return fmt::format("{{\"switching_time_ns\": {}, \"hidden\": {}, \"exposed_ns\": {}, \"serialised_ns\": {}}}",
                     nanoseconds_text(h.switching_time), h.hidden, nanoseconds_text(h.exposed),
                     nanoseconds_text(h.serialised));
}

std::string json_cdf(const algo::CdfPoint& p) {
  return fmt::format("{{\"window_ns\": {}, \"fraction\": {}}}",
                     nanoseconds_text(Time{static_cast<std::int64_t>(p.value)}), p.fraction);
}

std::string json_topology(const TopologyChange& c) {
  return fmt::format("{{\"at_ns\": {}, \"topology\": \"{}\"}}", nanoseconds_text(c.at), encode_topology(c.digits));
}

std::string json_break_even(const WindowReport& report) {
  if (!report.pays_until) return "null";
  const BreakEven& b = *report.pays_until;
  const char* kind = b.kind == BreakEven::Kind::never ? "never" : b.kind == BreakEven::Kind::always ? "always" : "at";
  return fmt::format("{{\"kind\": \"{}\", \"switching_time_ns\": {}, \"overhead\": {}}}", kind,
                     b.kind == BreakEven::Kind::at ? nanoseconds_text(b.switching_time) : "null",
                     report.break_even_overhead ? fmt::to_string(*report.break_even_overhead) : "null");
}

}  // namespace

std::string phase_sequence(std::span<const Phase> phases, std::uint32_t rail, std::uint32_t stage) {
  std::string text;
  std::size_t shown = 0;
  std::size_t left = 0;
  for (const Phase& p : phases) {
    if (p.rail != rail || p.stage != stage) continue;
    if (shown == kSequenceLimit) {
      ++left;
      continue;
    }
    text += fmt::format("{}{}{}", shown++ == 0 ? "" : " ", letter(p.dimension), p.rounds);
  }
  return left == 0 ? text : text + fmt::format(" ... and {} more", left);
}

WindowReport make_window_report(const model::RunResult& run, std::uint32_t stages,
                                std::span<const Time> switching_times) {
  WindowReport report;
  report.analysis = analyse_windows(run);
  report.statistics = statistics_of(report.analysis.windows, switching_times);
  if (report.analysis.phases.empty()) return report;
  report.topology_rail = report.analysis.phases.front().rail;
  report.topology = topology_sequence(run, report.topology_rail, stages);
  return report;
}

std::string to_text(const WindowReport& report) {
  std::string text = report.title + "\n";
  const Out out = std::back_inserter(text);
  for (const std::string& note : report.notes) fmt::format_to(out, "{}\n", note);
  const WindowStatistics& s = report.statistics;
  if (report.analysis.phases.empty()) {
    return text + fmt::format("\nNo traffic on rails, so no windows.{}{}\n", report.no_traffic.empty() ? "" : " ",
                              report.no_traffic);
  }
  append_phases(out, report.analysis);
  append_topology(out, report);
  const std::string shorter = s.hiding.empty() ? "< 0" : "< " + show(s.hiding.front().switching_time);
  fmt::format_to(out, "\nWindows (from the last end of a phase to the first fully issued operation of the next)\n");
  append_summary_head(out, "", shorter);
  append_summary(out, "all", s.all);
  for (const KindSummary& k : s.kinds) append_summary(out, kind_name(k.from, k.to), k.summary);
  if (report.run_switches) {
    fmt::format_to(out,
                   "  These windows contain the delays of the run's own switching; those of the baseline do not.\n");
  }
  fmt::format_to(out, "\nWindows by the traffic of the phase that follows\n");
  append_summary_head(out, "bytes on the wire", shorter);
  for (const TrafficSummary& t : s.traffic) append_summary(out, class_name(t), t.summary);
  if (report.closed_form) {
    fmt::format_to(out, "\nWindows of one rail in program order, by formula: {}\n", *report.closed_form);
  }
  append_hiding(out, report);
  append_break_even(out, report);
  fmt::format_to(out, "\nAll rails and stages together: {} phases, {} windows, {} after them on the wire.\n",
                 report.analysis.phases.size(), s.all.count, brief(s.all.bytes_after));
  return text;
}

std::string to_json(const WindowReport& report) {
  const WindowStatistics& s = report.statistics;
  std::string text = fmt::format("{{\n  \"title\": {},\n  \"notes\": {},\n", quoted(report.title),
                                 json_list(report.notes, [](const std::string& n) { return quoted(n); }));
  text +=
      fmt::format("  \"all\": {{{}}},\n  \"kinds\": {},\n  \"traffic\": {},\n  \"hiding\": {},\n", json_summary(s.all),
                  json_list(s.kinds, json_kind), json_list(s.traffic, json_traffic), json_list(s.hiding, json_hiding));
  text += fmt::format("  \"closed_form\": {},\n  \"break_even\": {},\n  \"topology_rail\": {},\n  \"topology\": {},\n",
                      report.closed_form ? fmt::to_string(*report.closed_form) : "null", json_break_even(report),
                      report.topology_rail, json_list(report.topology, json_topology));
  text += fmt::format("  \"cdf\": {},\n  \"phases\": {},\n  \"windows\": {}\n}}\n", json_list(s.cdf, json_cdf),
                      json_list(report.analysis.phases, json_phase), json_list(report.analysis.windows, json_window));
  return text;
}

std::string to_csv(const WindowReport& report) {
  std::string text = "rail,stage,from,to,opens_ns,window_ns,bytes_after,operations_after\n";
  for (const Window& w : report.analysis.windows) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", w.rail, w.stage, to_text(w.from), to_text(w.to),
                        nanoseconds_text(w.opens), nanoseconds_text(w.length), w.bytes_after.count, w.operations_after);
  }
  return text;
}

}  // namespace photonrail::analysis

#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/formula.h"
#include "report/human.h"

namespace photonrail::report {
namespace {

constexpr int kMaxDepth = 8;  // of inputs of inputs; metrics use only earlier ones, damaged reports may not
constexpr std::size_t kSuggestions = 3;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// Lower case, letters and digits only, so that "MFU", "step time" and "step_time" mean what they look like.
std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

// Headings of the tables of `simulate` and the metrics below them; titles that equal a label need no entry.
struct Heading {
  std::string_view text;
  std::string_view metric;
};
constexpr Heading kHeadings[] = {{"step time", "iteration_time"},
                                 {"step time by switching time", "iteration_time"},
                                 {"compute", "compute_time"},
                                 {"comm.+wait", "exposed_communication"},
                                 {"exposed comm.", "exposed_communication"},
                                 {"tokens/s", "tokens_per_second"},
                                 {"energy/step", "energy_per_step"},
                                 {"commands", "switch_commands"},
                                 {"ahead", "switch_commands_ahead"},
                                 {"exposed", "exposed_switch_time"},
                                 {"exposed, sum", "exposed_switch_time"},
                                 {"hidden", "hidden_switch_time"},
                                 {"hidden, sum", "hidden_switch_time"},
                                 {"mispredicted", "mispredictions"},
                                 {"count", "windows"},
                                 {"negative", "windows_negative"},
                                 {"short", "windows_short_share"},
                                 {"windows shorter than the switching time", "windows_short_share"},
                                 {"p5", "window_p5"},
                                 {"p25", "window_p25"},
                                 {"median", "window_p50"},
                                 {"p75", "window_p75"},
                                 {"p95", "window_p95"},
                                 {"cost", "network_cost"},
                                 {"cheaper", "cost_saving"},
                                 {"power", "network_power"},
                                 {"less", "power_saving"}};

// The metric that a reader names by id, heading or label.
std::optional<std::size_t> metric_named(const Report& report, std::string_view wanted) {
  if (const auto exact_id = find_metric(report, wanted)) return exact_id;
  const std::string text = folded(wanted);
  if (text.empty()) return std::nullopt;
  for (const Heading& heading : kHeadings) {
    if (folded(heading.text) == text) return find_metric(report, heading.metric);
  }
  for (std::size_t i = 0; i < report.metrics.size(); ++i) {
    if (folded(report.metrics[i].id) == text || folded(report.metrics[i].label) == text) return i;
  }
  // "Overhead against rail_optimised"
  if (text == folded("overhead against " + report.baseline)) return find_metric(report, "overhead");
  return std::nullopt;
}

// Names that contain what was typed come first, then those of few edits.
std::string nearest(std::string_view wanted, std::vector<std::string> ids) {
  std::stable_sort(ids.begin(), ids.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(wanted, a) < edit_distance(wanted, b);
  });
  const std::string text = folded(wanted);
  std::stable_partition(ids.begin(), ids.end(), [&](const std::string& id) {
    return !text.empty() && folded(id).find(text) != std::string::npos;
  });
  if (ids.size() > kSuggestions) ids.resize(kSuggestions);
  return fmt::format("{}", fmt::join(ids, ", "));
}

std::string source_for(const Case& c, const Metric& metric) {
  for (const auto& [id, source] : c.sources) {
    if (id == metric.id) return source;
  }
  return metric.source;
}

std::string both_forms(std::optional<double> value, std::string_view unit) {
  if (!value) return "no value in this case";
  const std::string text = human(value, unit);
  const std::string full = exact(*value);
  if (text.starts_with(full + " ") || text == full) return text;
  return fmt::format("{}  ({} {})", text, full, unit);
}

// Tells one number and, below it, what it was computed from.
class Derivation {
 public:
  Derivation(const Report& report, const TextStyle& style) : report_(report), style_(style) {}

  void tell_metric(const Case& c, const Metric& metric, std::string_view shown_as, int depth) {
    line(depth, fmt::format("{} = {}", shown_as, both_forms(value_of(report_, c, metric.id), metric.unit)));
    const std::string place = depth == 0 ? "" : fmt::format("case {}", c.id);
    if (!place.empty() && c.id != case_) detail(depth, "in", place);
    if (seen(c.id + "\n" + metric.id)) return detail(depth, "", "as above");
    if (!metric.formula.empty()) detail(depth, "formula", metric.formula);
    if (!metric.rule.empty()) detail(depth, metric.formula.empty() ? "rule" : "means", metric.rule);
    const std::string source = source_for(c, metric);
    if (!source.empty()) detail(depth, "source", source);
    for (const std::string& a : metric.assumptions) assume(a);
    if (depth >= kMaxDepth) return;
    for (const std::string& name : names_in(metric.formula)) tell_input(c, name, depth + 1);
  }

  void set_case(std::string id) { case_ = std::move(id); }
  std::string take() {
    if (assumptions_.empty()) return std::move(out_);
    out_ += "\nassumptions\n";
    for (const std::string& a : assumptions_) out_ += wrapped("- " + a, style_.width, 2);
    return std::move(out_);
  }

 private:
  void tell_input(const Case& c, const std::string& name, int depth) {
    const Reference found = resolve(report_, c, name);
    if (found.metric != nullptr) return tell_metric(*found.of, *found.metric, name, depth);
    if (found.constant == nullptr) return line(depth, name + " = no value in this case");
    line(depth, fmt::format("{} = {}", name, both_forms(found.value, found.unit)));
    if (seen("\n" + name)) return;
    detail(depth, "is", found.constant->label);
    if (!found.constant->source.empty()) detail(depth, "source", found.constant->source);
  }

  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<std::size_t>(depth) * 4, ' ') + text + "\n";
  }
  void detail(int depth, std::string_view what, std::string_view text) {
    out_ += wrapped(what.empty() ? std::string(text) : fmt::format("{}: {}", what, text), style_.width, depth * 4 + 2);
  }
  void assume(const std::string& text) {
    if (std::find(assumptions_.begin(), assumptions_.end(), text) == assumptions_.end()) assumptions_.push_back(text);
  }
  bool seen(const std::string& key) {
    if (std::find(told_.begin(), told_.end(), key) != told_.end()) return true;
    told_.push_back(key);
    return false;
  }

  const Report& report_;
  const TextStyle& style_;
  std::string case_;
  std::string out_;
  std::vector<std::string> told_;
  std::vector<std::string> assumptions_;
};

std::string derivation(const Report& report, const Case& c, const Metric& metric, const TextStyle& style) {
  Derivation told(report, style);
  told.set_case(c.id);
  told.tell_metric(c, metric, metric.id, 0);
  return told.take();
}

Table values_table(const Report& report, const Metric& metric) {
  Table table;
  table.columns = {{"case", false}, {metric.id, true}, {"", false}};
  for (const Case& c : report.cases) {
    table.rows.push_back(
        {c.id, human(value_of(report, c, metric.id), metric.unit), c.refusal.empty() ? "" : "refused"});
  }
  return table;
}

const Case* last_case_with(const Report& report, std::string_view metric) {
  const Case* found = nullptr;
  for (const Case& c : report.cases) {
    if (value_of(report, c, metric)) found = &c;
  }
  return found;
}

Error unknown_case(const Report& report, std::string_view id) {
  std::vector<std::string> ids;
  for (const Case& c : report.cases) ids.push_back(c.id);
  return {ErrorCode::usage, fmt::format("no case '{}' in this report\n  hint: nearest: {}", id, nearest(id, ids))};
}

Error unknown_metric(const Report& report, std::string_view id) {
  std::vector<std::string> ids;
  // One whose label has the word, and not its id, comes with the label.
  const std::string text = folded(id);
  const auto add = [&](const std::string& found, const std::string& label) {
    const bool by_label =
        folded(found).find(text) == std::string::npos && folded(label).find(text) != std::string::npos;
    ids.push_back(by_label && !text.empty() ? fmt::format("{} ({})", found, label) : found);
  };
  for (const Metric& m : report.metrics) add(m.id, m.label);
  for (const Constant& c : report.constants) add(c.id, c.label);
  return {ErrorCode::usage, fmt::format("no number '{}' in this report\n  hint: nearest: {}; `photonrail explain "
                                        "REPORT` without an id lists all",
                                        id, nearest(id, ids))};
}

std::string explain_constant(const Constant& constant, const TextStyle& style) {
  std::string out = fmt::format("{}: {}\n\n", constant.id, constant.label);
  out += fmt::format("{} = {}\n", constant.id, both_forms(constant.value, constant.unit));
  return out + wrapped("source: " + constant.source, style.width, 2);
}

std::string explain_case(const Report& report, const Case& c, const Metric& metric, const TextStyle& style) {
  if (!c.refusal.empty()) return fmt::format("case {} was refused: {}\n", c.id, c.refusal);
  return fmt::format("case {}\n", c.id) + derivation(report, c, metric, style);
}

}  // namespace

std::string explain_list(const Report& report, const TextStyle& style) {
  Table metrics{"Metrics of every case", {{"id", false}, {"unit", false}, {"formula or rule", false}}, {}, {}};
  for (const Metric& m : report.metrics) metrics.rows.push_back({m.id, m.unit, m.formula.empty() ? m.rule : m.formula});
  Table constants{"Constants", {{"id", false}, {"value", true}, {"what", false}}, {}, {}};
  for (const Constant& c : report.constants) constants.rows.push_back({c.id, human(c.value, c.unit), c.label});
  Table cases{"Cases", {{"id", false}, {"kind", false}, {"", false}}, {}, {}};
  for (const Case& c : report.cases) cases.rows.push_back({c.id, c.kind, c.refusal.empty() ? "" : "refused"});
  return render_table(metrics, style) + "\n" + render_table(constants, style) + "\n" + render_table(cases, style);
}

Result<std::string> explain(const Report& report, std::string_view id, std::string_view case_id,
                            const TextStyle& style) {
  const Case* chosen = find_case(report, case_id);
  if (!case_id.empty() && chosen == nullptr) return fail(unknown_case(report, case_id));
  if (const Constant* constant = find_constant(report, id)) return explain_constant(*constant, style);
  const std::optional<std::size_t> index = metric_named(report, id);
  if (!index) return fail(unknown_metric(report, id));
  const Metric& metric = report.metrics[*index];
  std::string out = fmt::format("{}: {}\n\n", metric.id, metric.label);
  if (chosen != nullptr) return out + explain_case(report, *chosen, metric, style);
  out += render_table(values_table(report, metric), style) + "\n";
  const Case* example = last_case_with(report, metric.id);
  if (example == nullptr) return out + wrapped(metric.rule, style.width, 0);
  return out + explain_case(report, *example, metric, style);
}

}  // namespace photonrail::report

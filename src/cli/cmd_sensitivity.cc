#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/digest.h"
#include "cli/commands.h"
#include "cli/experiments.h"
#include "cli/output.h"
#include "report/files.h"
#include "report/human.h"
#include "report/progress.h"
#include "report/render.h"
#include "sensitivity/report.h"

namespace photonrail::cli {
namespace {

using sensitivity::Parameter;

struct Question {
  sensitivity::Experiment experiment;
  std::vector<sensitivity::Metric> base;  // the scenario as it is
  std::vector<Parameter> parameters;
  std::vector<std::string> metrics;  // full names
  std::shared_ptr<sensitivity::Declarations> said = std::make_shared<sensitivity::Declarations>();
  std::shared_ptr<sensitivity::Declarations> said_by_other = std::make_shared<sensitivity::Declarations>();  // --equals
};

Result<std::vector<std::string>> metric_names(const std::vector<sensitivity::Metric>& base,
                                              const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const std::string& name : wanted) {
    PR_ASSIGN(const std::size_t index, sensitivity::find_metric(base, name));
    names.push_back(base[index].name);
  }
  return names;
}

// Where the scenario as it is cannot run, the metrics are those of the first point of the first parameter that does.
Result<std::vector<sensitivity::Metric>> base_metrics(const Question& question) {
  auto base = question.experiment({});
  if (base) return base;
  for (const Parameter& p : question.parameters) {
    for (const std::string& set : sensitivity::sweep_sets(p)) {
      if (auto other = question.experiment({set})) return other;
    }
  }
  return base;
}

Result<Question> question_of(const SensitivityOptions& options) {
  Question question;
  PR_ASSIGN(question.experiment, experiment_of(options.command, options.source, question.said));
  for (const std::string& text : options.vary) {
    PR_ASSIGN(Parameter parameter, sensitivity::parse_parameter(text));
    const auto same = [&](const Parameter& p) { return p.path == parameter.path; };
    if (std::any_of(question.parameters.begin(), question.parameters.end(), same)) {
      return fail(ErrorCode::usage, fmt::format("{} is varied twice", parameter.path));
    }
    question.parameters.push_back(std::move(parameter));
  }
  PR_ASSIGN(question.base, base_metrics(question));
  PR_ASSIGN(question.metrics, metric_names(question.base, options.metrics));
  return question;
}

// The target: a number, or the metric of another scenario of the same command.
Result<double> target_of(const SensitivityOptions& options, const Question& question, const std::string& metric) {
  if (options.target && !options.equals.empty())
    return fail(ErrorCode::usage, "--target and --equals exclude each other\n  hint: leave one of them out");
  if (options.equals.empty()) {
    if (options.target && !std::isfinite(*options.target))
      return fail(ErrorCode::usage, "--target: a finite number is wanted");
    if (options.target) return *options.target;
    return fail(ErrorCode::usage,
                "--break-even needs --target VALUE, in the base unit of the metric, or --equals SCENARIO");
  }
  ScenarioSource other = options.source;
  other.file = options.equals;
  other.sets = options.equals_sets;
  PR_ASSIGN(const sensitivity::Experiment experiment, experiment_of(options.command, other, question.said_by_other));
  PR_ASSIGN(const auto metrics, experiment({}));
  PR_ASSIGN(const std::size_t index, sensitivity::find_metric(metrics, metric));
  return metrics[index].value;
}

Status add_break_even(report::Report& report, const SensitivityOptions& options, const Question& question) {
  if (question.metrics.size() != 1) return fail(ErrorCode::usage, "--break-even needs exactly one --metric");
  PR_ASSIGN(const Parameter parameter, sensitivity::parse_parameter(options.break_even));
  PR_ASSIGN(const double target, target_of(options, question, question.metrics.front()));
  PR_ASSIGN(const auto found,
            sensitivity::break_even(question.experiment, parameter, question.metrics.front(), target));
  sensitivity::add_break_even(report, parameter, found);
  return {};
}

Status add_analyses(report::Report& report, const SensitivityOptions& options, const Question& question,
                    const sensitivity::RunOptions& run) {
  const bool other = options.tornado || options.samples > 0 || !options.break_even.empty();
  if (options.metrics.empty()) {
    if (other || !options.vary.empty()) {
      return fail(ErrorCode::usage, "--metric is missing\n  hint: without --vary the command lists its metrics");
    }
    sensitivity::add_metrics(report, question.base);
    return {};
  }
  if (options.tornado) {
    PR_ASSIGN(const auto bars, sensitivity::tornado(question.experiment, question.parameters, question.metrics, run));
    sensitivity::add_tornado(report, bars);
  }
  if (options.samples > 0) {
    const sensitivity::MonteCarloOptions what{static_cast<std::size_t>(options.samples), options.seed, options.rank};
    PR_ASSIGN(const auto spread,
              sensitivity::monte_carlo(question.experiment, question.parameters, question.metrics, what, run));
    sensitivity::add_monte_carlo(report, spread, question.parameters, what);
  }
  if (!options.break_even.empty()) PR_TRY(add_break_even(report, options, question));
  if (other) return {};
  if (question.parameters.empty())
    return fail(ErrorCode::usage, "nothing is varied\n  hint: add --vary 'path=LOW..HIGH'");
  PR_ASSIGN(const auto points, sensitivity::sweep(question.experiment, question.parameters, run));
  sensitivity::add_sweep(report, points, question.metrics);
  return {};
}

report::Report heading(const SensitivityOptions& options) {
  report::Report report;
  report.command = "sensitivity";
  report.version = PHOTONRAIL_VERSION;
  report.scenario_name = options.command + " " + options.source.file;
  report.seed = options.seed;
  for (const std::string& set : options.source.sets) report.header.emplace_back("set", set);
  for (const std::string& vary : options.vary) report.header.emplace_back("vary", vary);
  if (!options.break_even.empty()) report.header.emplace_back("break-even of", options.break_even);
  if (!options.equals.empty()) report.header.emplace_back("against", options.equals);
  return report;
}

// For a shell: in single quotes where anything else than a name or path is in it.
std::string quoted(const std::string& text) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.'; };
  const auto safe = [&](char c) { return plain(c) || std::string_view("_-=:,+@%").find(c) != std::string_view::npos; };
  if (!text.empty() && std::all_of(text.begin(), text.end(), safe)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string command_text(const std::string& command, const std::string& file, const std::vector<std::string>& sets) {
  std::string text = fmt::format("photonrail {} {}", command, quoted(file));
  for (const std::string& set : sets) text += " --set " + quoted(set);
  return text;
}

// What all points together override and rest on, and where the rest of it is printed.
void add_declarations(report::Report& report, const SensitivityOptions& options, const Question& question) {
  const auto add = [&](const sensitivity::Declarations& said, const std::string& of) {
    bool any = false;
    for (const auto& [what, text] : said.lines()) {
      report.header.emplace_back(what, of + text);
      any = any || what == report::kOverride;
    }
    if (!any) report.header.emplace_back(report::kOverride, of + "none at any point");
  };
  add(*question.said, "");
  if (!options.equals.empty()) add(*question.said_by_other, "the other scenario: ");
  report.header.emplace_back(report::kAssumptions,
                             fmt::format("printed by `{}`; of a point, with its values as further --set",
                                         command_text(options.command, options.source.file, options.source.sets)));
  if (options.equals.empty()) return;
  report.header.emplace_back(report::kAssumptions,
                             fmt::format("of the other scenario: printed by `{}`",
                                         command_text(options.command, options.equals, options.equals_sets)));
}

// Of all numbers and where they stand.
std::string digest_of(const report::Report& report) {
  Digest digest;
  for (const report::Case& c : report.cases) {
    digest.add(c.id);
    digest.add(c.refusal);
    for (const auto& value : c.values) digest.add(value ? report::exact(*value) : std::string());
  }
  return digest.hex();
}

std::string rendered(const report::Report& report, Format format) {
  if (format == Format::json) return report::render_json(report);
  if (format == Format::csv) return report::render_csv(report);
  return report::render_text(report, output_style());
}

}  // namespace

Status run(const SensitivityOptions& options) {
  if (!options.out.empty()) PR_TRY(report::prepare_directory(options.out));
  PR_ASSIGN(const Question question, question_of(options));
  report::Report report = heading(options);
  {
    report::Progress progress(report::stderr_is_terminal() && !options.quiet);
    const sensitivity::RunOptions run{thread_count(options.threads),
                                      [&](std::size_t done, std::size_t of) { progress.show(done, of, "evaluating"); }};
    PR_TRY(add_analyses(report, options, question, run));
  }
  add_declarations(report, options, question);
  sensitivity::finish(report);
  report.digest = digest_of(report);
  report.scenario_hash = report.digest;
  if (!options.out.empty()) {
    PR_TRY(report::write_files(options.out, {{"report.txt", report::render_text(report, {})},
                                             {"report.json", report::render_json(report)},
                                             {"report.csv", report::render_csv(report)}}));
  }
  return print(rendered(report, options.format));
}

}  // namespace photonrail::cli

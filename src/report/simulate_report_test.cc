#include "report/simulate_report.h"

#include <gtest/gtest.h>

#include "report/explain.h"
#include "report/formula.h"
#include "report/render.h"

namespace photonrail::report {
namespace {

using model::CommRecord;
using model::Dimension;
using model::RunResult;
using model::SwitchRecord;

SwitchRecord switched(Time duration, Time exposed, bool ahead) {
  SwitchRecord s;
  s.ports = 8;
  s.ahead = ahead;
  s.requested = seconds(1);
  s.started = seconds(1);
  s.finished = seconds(1) + duration;
  s.exposed = exposed;
  return s;
}

RunResult run_of(Time step) {
  RunResult run;
  run.iteration_time = step;
  run.ranks = {{step, seconds(6), step - seconds(6)}, {step, seconds(8), step - seconds(8)}};
  run.wire_bytes[static_cast<int>(Dimension::tensor)] = 5'000;
  run.wire_bytes[static_cast<int>(Dimension::data)] = 300;
  CommRecord on_rail;
  on_rail.wire_bytes = Bytes{300};
  on_rail.issued_last = milliseconds(1);
  on_rail.started = milliseconds(4);
  CommRecord inside;
  inside.path = model::Path::scale_up;
  inside.wire_bytes = Bytes{5'000};
  run.communications = {on_rail, inside};
  run.flops = 4e15;
  run.digest = static_cast<std::uint64_t>(step.ps);
  return run;
}

// Two GPUs of 1 PFLOP/s and 700 W. Baseline 10 s; on demand 10.2 s at 0 and 12 s at 100 ms; static refused.
SimulateInputs small_inputs() {
  SimulateInputs in;
  in.scenario.name = "small";
  in.scenario.cluster.gpus = 2;
  in.scenario.cluster.domain = 1;
  in.workload_lines = {{"trace", "x"}, {"", "first note"}, {"", "second note"}};
  in.version = "0.0.0";
  in.scenario_hash = "00ff";
  in.scenario_text = "name = \"small\"\n";
  in.gpu_peak = {1e15};
  in.gpu_peak_source = "catalog: H200";
  in.gpu_power = {700};
  in.gpu_power_source = "catalog: H200";
  in.tokens_per_step = 1000;
  in.model_flops = 4e15;
  in.model_flops_source = "generator";
  RunResult slow = run_of(seconds(12));
  slow.switches = {switched(milliseconds(100), milliseconds(75), false),
                   switched(milliseconds(100), milliseconds(0), true)};
  in.cases.push_back({"rail_optimised", false, {}, run_of(seconds(10)), {}, "rail_optimised"});
  in.cases.push_back({"static_sqrt", true, {}, fail(ErrorCode::infeasible, "needs 4 ports, has 2"), {}, "photonic"});
  in.cases.push_back({"on_demand", true, Time{}, run_of(milliseconds(10'200)), {}, "photonic"});
  in.cases.push_back(
      {"on_demand", true, milliseconds(100), slow,
       WindowStats{20, 2, 5, milliseconds(-1), milliseconds(1), milliseconds(2), milliseconds(3), seconds(1)},
       "photonic"});
  in.networks = {{"rail_optimised", "electrical", {2000}, {2000}, {2000}, {300}, "list", ""},
                 {"photonic", "photonic rails", {400}, {500}, {600}, {100}, "range", ""},
                 {"large", "too large", {}, {}, {}, {}, "", "needs more ports"}};
  return in;
}

double value_at(const Report& report, std::string_view c, std::string_view metric) {
  const Case* found = find_case(report, c);
  if (found == nullptr) return -1e300;
  return value_of(report, *found, metric).value_or(-1e301);
}

// Every expected number is worked from the inputs above by hand.
TEST(SimulateReport, GivesTheNumbersWorkedByHand) {
  const Report r = make_simulate_report(small_inputs());
  const char* slow = "on_demand@100ms";
  EXPECT_DOUBLE_EQ(value_at(r, slow, "iteration_time"), 12);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "overhead"), 12.0 / 10 - 1);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "added_by_switching"), 12 - 10.2);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "compute_time"), 7);           // (6 + 8) / 2
  EXPECT_DOUBLE_EQ(value_at(r, slow, "exposed_communication"), 5);  // (6 + 4) / 2
  EXPECT_DOUBLE_EQ(value_at(r, slow, "switch_time"), 0.2);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "exposed_switch_time"), 0.075);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "hidden_switch_time"), 0.125);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "switch_commands"), 2);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "switch_commands_ahead"), 1);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "ports_changed"), 16);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "windows_short_share"), 0.25);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "bytes_tensor"), 5000);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "bytes_rails"), 300);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "rail_operations"), 1);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "wait_per_operation"), 0.003);
  EXPECT_DOUBLE_EQ(value_at(r, "rail_optimised", "mfu"), 4e15 / (10 * 2 * 1e15));
  EXPECT_DOUBLE_EQ(value_at(r, "rail_optimised", "tokens_per_second"), 100);
  EXPECT_DOUBLE_EQ(value_at(r, "rail_optimised", "energy_per_step"), (2 * 700 + 300) * 10.0);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "cost_saving"), 4);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "power_saving"), 3);
  EXPECT_DOUBLE_EQ(value_at(r, slow, "energy_change"), (1400.0 + 100) * 12 / 17'000 - 1);
}

// An electrical fabric must not show zero switches as if it had been measured; a refused case must have no number.
TEST(SimulateReport, LeavesOutWhatACaseDoesNotHave) {
  const Report r = make_simulate_report(small_inputs());
  EXPECT_FALSE(value_of(r, *find_case(r, "rail_optimised"), "switch_commands"));
  EXPECT_FALSE(value_of(r, *find_case(r, "rail_optimised"), "windows"));
  const Case& refused = *find_case(r, "static_sqrt");
  EXPECT_EQ(refused.refusal, "needs 4 ports, has 2");
  for (const Metric& m : r.metrics) EXPECT_FALSE(value_of(r, refused, m.id)) << m.id;
}

// The promise of `explain`: each derived number follows from its formula text, whose names all mean something.
TEST(SimulateReport, EveryNumberHasAFormulaOrARule) {
  const Report r = make_simulate_report(small_inputs());
  for (const Metric& m : r.metrics) {
    EXPECT_FALSE(m.label.empty()) << m.id;
    if (m.formula.empty()) {
      EXPECT_FALSE(m.rule.empty()) << m.id;
      EXPECT_FALSE(m.source.empty()) << m.id;
      continue;
    }
    EXPECT_TRUE(formula_is_valid(m.formula)) << m.id;
    for (const std::string& name : names_in(m.formula)) {
      const Reference found = resolve(r, *find_case(r, "on_demand@100ms"), name);
      EXPECT_TRUE(found.metric != nullptr || found.constant != nullptr) << m.id << " uses " << name;
    }
  }
}

TEST(SimulateReport, ShowsRefusedCasesWithTheReason) {
  const Report r = make_simulate_report(small_inputs());
  const std::string text = render_text(r, {});
  EXPECT_NE(text.find("needs 4 ports, has 2"), std::string::npos);
  EXPECT_NE(render_csv(r).find("static_sqrt,static_sqrt,photonic,,refused,\"needs 4 ports, has 2\","),
            std::string::npos);
  EXPECT_NE(r.reading.front().find("Not possible here: static_sqrt"), std::string::npos);
}

TEST(SimulateReport, ReadsTheNumbersInWords) {
  const std::string text = make_simulate_report(small_inputs()).reading.front();
  EXPECT_NE(text.find("On rail_optimised one step takes 10.00 s"), std::string::npos) << text;
  EXPECT_NE(text.find("With on_demand it is 2.00 % longer at a switching time of 0 s and 20.0 % longer at "
                      "100 ms"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("costs $500.00 against $2000.00 (4.00 times less)"), std::string::npos) << text;
}

// Red if a reader had to open JSON to learn how long the switch takes, or what a sum of it is a sum of.
TEST(SimulateReport, SaysWhatTheSwitchTakesWithoutASweep) {
  SimulateInputs in = small_inputs();
  in.switch_lines = {"own: dark 25 ms = 25 ms (typical)", "and on top: request 1 us"};
  in.cases.erase(in.cases.begin() + 2);
  in.cases[2].switching_time.reset();
  in.cases[2].own_switching_time = milliseconds(25);
  const Report r = make_simulate_report(in);
  EXPECT_DOUBLE_EQ(value_at(r, "on_demand", "switching_time"), 0.025);
  EXPECT_FALSE(find_case(r, "on_demand")->switching_time);
  const std::string text = render_text(r, {});
  for (const char* part : {"own: dark 25 ms", "and on top: request 1 us", "exposed, sum", "one for each group or pair",
                           "comm.+wait: means over ranks", "contain the delays of their own switching"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(SimulateReport, SaysWhenNoSwitchingPolicyHasAResult) {
  SimulateInputs in = small_inputs();
  in.cases.erase(in.cases.begin() + 2, in.cases.end());
  in.cases.push_back({"on_demand", true, {}, fail(ErrorCode::infeasible, "no settle time\n  hint: give it"), {}, ""});
  EXPECT_NE(make_simulate_report(in).reading.front().find("So nothing here says what switching costs."),
            std::string::npos);
  in.cases.erase(in.cases.begin() + 1);
  EXPECT_NE(make_simulate_report(in).reading.front().find("on_demand: no settle time hint: give it."),
            std::string::npos);
}

TEST(SimulateReport, SaysSoWhenTheBaselineIsMissing) {
  SimulateInputs in = small_inputs();
  in.scenario.baseline = "fat_tree";
  const Report r = make_simulate_report(in);
  EXPECT_EQ(r.baseline, "");
  EXPECT_FALSE(value_of(r, *find_case(r, "on_demand@100ms"), "overhead"));
  EXPECT_NE(r.reading.front().find("no result"), std::string::npos);
}

// Red if JSON lost a digit, a refusal, an order or a source on the way.
TEST(SimulateReport, JsonReadsBackToTheSameReport) {
  const Report r = make_simulate_report(small_inputs());
  const std::string json = render_json(r);
  const Result<Report> back = read_report(json, "report.json");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(render_json(*back) == json);
  EXPECT_TRUE(render_csv(*back) == render_csv(r));
}

TEST(SimulateReport, RefusesWhatIsNoReport) {
  for (const char* bad : {"", "{", "[]", "{}", "{\"photonrail\": 1}", "{} x", "null"}) {
    const Result<Report> refused = read_report(bad, "r.json");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message.rfind("r.json:", 0), 0u) << refused.error().message;
  }
  std::string json = render_json(make_simulate_report(small_inputs()));
  EXPECT_FALSE(read_report(json.substr(0, json.size() / 2), "r.json"));
}

// Unknown power must not become energy that is too small.
TEST(SimulateReport, HasNoEnergyWithoutThePowerOfAGpu) {
  SimulateInputs in = small_inputs();
  in.gpu_power = {0};
  const Report r = make_simulate_report(in);
  EXPECT_FALSE(value_of(r, *find_case(r, "rail_optimised"), "energy_per_step"));
  EXPECT_TRUE(value_of(r, *find_case(r, "rail_optimised"), "network_energy_per_step"));
}

TEST(SimulateReport, DigestFollowsTheRuns) {
  SimulateInputs in = small_inputs();
  const std::string before = make_simulate_report(in).digest;
  EXPECT_EQ(make_simulate_report(in).digest, before);
  in.cases[2].run->digest ^= 1;
  EXPECT_NE(make_simulate_report(in).digest, before);
}

TEST(Explain, TellsFormulaInputsAndSourcesDownToWhatWasGiven) {
  const Report r = make_simulate_report(small_inputs());
  const Result<std::string> told = explain(r, "energy_change", "on_demand@100ms", {});
  ASSERT_TRUE(told) << told.error().message;
  for (const char* part : {"formula: energy_per_step / baseline.energy_per_step - 1",
                           "baseline.energy_per_step = 17.00 kJ", "in: case rail_optimised", "gpu_power = 700.0 W",
                           "source: catalog: H200", "source: range", "assumptions", "GPUs draw their rated power"}) {
    EXPECT_NE(told->find(part), std::string::npos) << part << "\n" << *told;
  }
}

TEST(Explain, NamesTheNearestOfAnUnknownId) {
  const Report r = make_simulate_report(small_inputs());
  const Result<std::string> metric = explain(r, "overhed", "", {});
  ASSERT_FALSE(metric);
  EXPECT_NE(metric.error().message.find("overhead"), std::string::npos);
  const Result<std::string> wrong_case = explain(r, "overhead", "on_demand@10ms", {});
  ASSERT_FALSE(wrong_case);
  EXPECT_NE(wrong_case.error().message.find("on_demand@100ms"), std::string::npos);
}

// A reader has the headings of the tables, not the ids. Red if a heading led to no metric, or to another.
TEST(Explain, TakesHeadingsAndLabels) {
  const Report r = make_simulate_report(small_inputs());
  const std::pair<const char*, const char*> kCases[] = {
      {"step time", "iteration_time:"},
      {"MFU", "mfu:"},
      {"comm.+wait", "exposed_communication:"},
      {"hidden switch time, sum over commands", "hidden_switch_time:"},
      {"Energy of one step, GPUs and network", "energy_per_step:"}};
  for (const auto& [asked, begins] : kCases) {
    const Result<std::string> told = explain(r, asked, "", {});
    ASSERT_TRUE(told) << asked;
    EXPECT_EQ(told->rfind(begins, 0), 0u) << asked << "\n" << *told;
  }
  for (const Table& table : r.tables) {
    if (table.columns.empty() || table.columns.front().header == "switching time") continue;  // its columns are times
    for (const Table::Column& column : table.columns) {
      const std::string& text = column.header;
      const bool other = text.empty() || text == "bytes" || text == "range";
      if (!other) { EXPECT_TRUE(explain(r, text, "", {})) << text; }
    }
  }
  EXPECT_NE(explain(r, "utilisation", "", {}).error().message.find("mfu (model FLOP/s utilisation)"),
            std::string::npos);
}

TEST(Explain, ListsEveryIdThatItExplains) {
  const Report r = make_simulate_report(small_inputs());
  const std::string list = explain_list(r, {});
  for (const Metric& m : r.metrics) {
    EXPECT_NE(list.find(m.id), std::string::npos);
    EXPECT_TRUE(explain(r, m.id, "", {})) << m.id;
  }
  for (const Constant& c : r.constants) EXPECT_TRUE(explain(r, c.id, "", {})) << c.id;
}

TEST(Table, AlignsColumnsByCharactersNotBytes) {
  const Table table{"", {{"a", false}, {"b", true}}, {{"µs", "1"}, {"xyz", "22"}}, {}};
  EXPECT_EQ(render_table(table, {}, 0), "a     b\nµs    1\nxyz  22\n");
}

TEST(Table, WrapsAtWords) {
  EXPECT_EQ(wrapped("aa bb cc", 5, 0), "aa bb\ncc\n");
  EXPECT_EQ(wrapped("aaaaaaaa b", 4, 1), " aaaaaaaa\n b\n");
}

// The text report must fit a terminal of 120 columns, and carry no colour unless asked.
TEST(Text, FitsAndIsPlain) {
  const std::string text = render_text(make_simulate_report(small_inputs()), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    EXPECT_LE(end - start, 120u) << text.substr(start, end - start);
    start = end + 1;
  }
  EXPECT_NE(render_text(make_simulate_report(small_inputs()), {true, 110}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace photonrail::report

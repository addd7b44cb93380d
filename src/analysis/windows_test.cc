// W(P1 -> P2) = min over j in P2 of issued_last(j) - max over i in P1 of finished(i)   (Opus, eq. 1-2)
#include "analysis/windows.h"

#include <gtest/gtest.h>

#include "analysis/analysis_test_records.h"
#include "analysis/window_report.h"
#include "analysis/window_statistics.h"

namespace photonrail::analysis {
namespace {

using namespace test;
using model::CommRecord;
using model::RunResult;

void number(RunResult& run) {
  for (std::uint32_t i = 0; i < run.communications.size(); ++i) run.communications[i].ordinal = i;
}

TEST(Windows, FollowTheDefinition) {
  RunResult run;
  // Two sends, the later to be issued first to finish; then two collectives of which the second is issued first.
  run.communications = {message(0, 0, 1, 10, 10, 30), message(0, 0, 1, 12, 12, 20), collective(0, 0, 100, 100, 110),
                        collective(0, 0, 90, 110, 120)};
  number(run);
  run.communications.push_back(run.communications[0]);  // the same send of a replica of the pipeline
  const WindowAnalysis analysis = analyse_windows(run);
  ASSERT_EQ(analysis.windows.size(), 1u);  // stage 1 has one phase only
  EXPECT_EQ(analysis.phases[0].operations, 3u);
  EXPECT_EQ(analysis.windows[0].length, picoseconds(90 - 30));
  EXPECT_EQ(analysis.windows[0].opens, picoseconds(30));
  EXPECT_EQ(analysis.windows[0].from, Dimension::pipeline);
  EXPECT_EQ(analysis.windows[0].to, Dimension::data);
  EXPECT_EQ(analysis.windows[0].operations_after, 2u);
  EXPECT_EQ(analysis.windows[0].bytes_after.count, 200);
  EXPECT_EQ(phase_sequence(analysis.phases, 0, 0), "P2 D2");
  EXPECT_EQ(phase_sequence(analysis.phases, 0, 1), "P2");
}

TEST(Windows, OverlapIsNegative) {
  RunResult run;
  run.communications = {collective(0, 0, 0, 0, 100), message(0, 0, 1, 40, 40, 60), collective(0, 0, 50, 60, 80)};
  const WindowAnalysis analysis = analyse_windows(run);
  ASSERT_EQ(analysis.windows.size(), 2u);
  EXPECT_EQ(analysis.windows[0].length, picoseconds(-60));  // the send wants to start at 40, the collective ends at 100
  EXPECT_EQ(analysis.windows[1].length, picoseconds(-10));
}

TEST(Windows, KeepRailsAndStagesApart) {
  RunResult run;
  run.communications = {collective(1, 2, 0, 0, 10), message(0, 2, 3, 20, 20, 30), collective(0, 3, 40, 40, 50)};
  CommRecord inside = collective(0, 2, 60, 60, 70);
  inside.path = model::Path::scale_up;
  run.communications.push_back(inside);
  const WindowAnalysis analysis = analyse_windows(run);
  ASSERT_EQ(analysis.windows.size(), 1u);
  EXPECT_EQ(analysis.windows[0].stage, 3u);
  EXPECT_EQ(analysis.phases.size(), 4u);
}

// Windows of 30, 10, -20 and 0: switching time 15.
TEST(WindowStatistics, WorkedByHand) {
  std::vector<Window> windows;
  for (const int length : {30, 10, -20, 0}) {
    windows.push_back({0, 0, Dimension::data, Dimension::pipeline, {}, picoseconds(length), {5'000'000}, 1});
  }
  windows[0].from = Dimension::pipeline;
  windows[0].to = Dimension::data;
  windows[0].bytes_after = {0};
  const Time times[] = {picoseconds(15), picoseconds(30)};
  const WindowStatistics s = statistics_of(windows, times);
  EXPECT_EQ(s.all.count, 4u);
  EXPECT_EQ(s.all.negative, 1u);
  EXPECT_EQ(s.all.shorter, 3u);
  EXPECT_EQ(s.all.quantile(0.0), picoseconds(-20));
  EXPECT_EQ(s.all.quantile(0.5), picoseconds(5));    // between 0 and 10
  EXPECT_EQ(s.all.quantile(0.25), picoseconds(-5));  // h = 0.75: -20 + 0.75 * 20
  EXPECT_EQ(s.all.quantile(1.0), picoseconds(30));
  ASSERT_EQ(s.kinds.size(), 2u);
  EXPECT_EQ(s.kinds[0].from, Dimension::data);
  EXPECT_EQ(s.kinds[0].summary.count, 3u);
  ASSERT_EQ(s.traffic.size(), 2u);
  EXPECT_EQ(s.traffic[1].low.count, 1'000'000);
  EXPECT_EQ(s.traffic[1].summary.count, 3u);
  ASSERT_EQ(s.cdf.size(), 4u);
  EXPECT_EQ(s.cdf[0].fraction, 0.25);
  // At 15: 10 leaves 5, 0 leaves 15, -20 leaves 15 (not 35: 20 of it are the overlap). At 30: 20, 30, 30.
  ASSERT_EQ(s.hiding.size(), 2u);
  EXPECT_EQ(s.hiding[0].hidden, 1u);
  EXPECT_EQ(s.hiding[0].exposed, picoseconds(35));
  EXPECT_EQ(s.hiding[0].serialised, picoseconds(20));
  EXPECT_EQ(s.hiding[1].hidden, 1u);
  EXPECT_EQ(s.hiding[1].exposed, picoseconds(80));
}

TEST(WindowReport, RendersEveryForm) {
  RunResult run;
  run.communications = {message(0, 0, 1, 10, 10, 30), collective(0, 0, 90, 100, 1'110),
                        message(0, 0, 1, 500, 1'200, 1'300)};
  const Time times[] = {microseconds(1)};
  WindowReport report = make_window_report(run, 2, times);
  report.title = "a \"test\"";
  report.closed_form = 2;
  report.pays_until = BreakEven{BreakEven::Kind::at, microseconds(3)};
  report.break_even_overhead = 0.25;
  EXPECT_EQ(to_csv(report),
            "rail,stage,from,to,opens_ns,window_ns,bytes_after,operations_after\n"
            "0,0,pipeline,data,0.030,0.060,100,1\n"
            "0,0,data,pipeline,1.110,-0.610,100,1\n");
  const std::string text = to_text(report);
  for (const char* part : {"P1 D1 P1", "pipeline -> data", "00 10 00", "1 us", "0 of 2", "25.00 %", "by formula: 2"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
  const std::string json = to_json(report);
  for (const char* part : {"\"a \\\"test\\\"\"", "\"window_ns\": -0.610", "\"closed_form\": 2", "\"kind\": \"at\"",
                           "\"topology\": \"10\""}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in\n" << json;
  }
}

TEST(WindowReport, SaysWhenThereIsNoTraffic) {
  const WindowReport report = make_window_report({}, 1, {});
  EXPECT_NE(to_text(report).find("No traffic on rails"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"windows\": 0"), std::string::npos);
}

}  // namespace
}  // namespace photonrail::analysis

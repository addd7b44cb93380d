// Against experiments whose answers are known in closed form: y = a b^2, with elasticities 1 and 2.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "report/render.h"
#include "sensitivity/analysis.h"
#include "sensitivity/declarations.h"
#include "sensitivity/report.h"

namespace photonrail::sensitivity {
namespace {

Parameter parameter(const std::string& text) {
  auto parsed = parse_parameter(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed.value_or(Parameter{});
}

double given(const std::vector<std::string>& sets, const std::string& path, double otherwise) {
  for (const std::string& set : sets) {
    if (set.starts_with(path + "=")) return std::stod(set.substr(path.size() + 1));
  }
  return otherwise;
}

// y = a b^2 with a = 2, b = 3; infeasible for b > 90.
Outcome parabola(const std::vector<std::string>& sets) {
  const double a = given(sets, "a", 2), b = given(sets, "m.b", 3);
  if (b > 90) return fail(ErrorCode::infeasible, "b is too large");
  return std::vector<Metric>{{"case/y", a * b * b, "s"}, {"rank/a", a, ""}, {"rank/b", b, ""}};
}

TEST(parameter, ranges_with_units_are_in_base_units_and_read_back) {
  const Parameter rate = parameter("pool.port=7.2 Tb/s..28800 Gb/s:3:log");
  EXPECT_EQ(rate.low, 7.2e12);
  EXPECT_EQ(rate.high, 28.8e12);
  EXPECT_EQ(sweep_sets(rate), (std::vector<std::string>{"pool.port=7200000000000 b/s", "pool.port=14400000000000 b/s",
                                                        "pool.port=28800000000000 b/s"}));
  EXPECT_EQ(parameter("e=5 pJ..25 pJ:2").set(5e-12), "e=5e-12 J");
  EXPECT_EQ(sweep_sets(parameter("b=1..4:9")), (std::vector<std::string>{"b=1", "b=2", "b=3", "b=4"}));
  EXPECT_EQ(sweep_sets(parameter("gpu=H100, H200")), (std::vector<std::string>{"gpu=H100", "gpu=H200"}));
  EXPECT_EQ(*parameter("x=1..2..4").base, 2);
}

TEST(parameter, mistakes_are_refused_with_an_example) {
  for (const char* text : {"x", "x=", "=1..2", "x=2..1", "x=1 s..2 GB", "x=0..1:log", "x=1..2:zz", "x=1..2:1",
                           "x=1..9..4", "x=1..2..3..4", "x=a..b", "x=1,,2"}) {
    const auto parsed = parse_parameter(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::usage);
    EXPECT_NE(parsed.error().message.find("--vary"), std::string::npos);
  }
}

TEST(parameter, samples_have_the_distribution_that_was_asked_for) {
  const auto share_below = [](const Parameter& p, double x) {
    int below = 0;
    for (std::uint64_t n = 0; n < 20'000; ++n) {
      RandomStream stream(7, p.path, n);
      below += sample(p, stream) < x ? 1 : 0;
    }
    return below / 20'000.0;
  };
  EXPECT_NEAR(share_below(parameter("x=1.0..3.0"), 1.5), 0.25, 0.01);
  EXPECT_NEAR(share_below(parameter("x=1.0..100.0:log"), 10), 0.5, 0.01);
  EXPECT_NEAR(share_below(parameter("x=1.0..3.0:normal"), 1.0), 0.05, 0.005);
  EXPECT_NEAR(share_below(parameter("x=1.0..100.0:lognormal"), 100), 0.95, 0.005);
  EXPECT_NEAR(share_below(parameter("x=0.0..1.0..4.0:triangular"), 1), 0.25, 0.01);
}

TEST(tornado, has_ends_elasticities_and_order) {
  const std::vector parameters = {parameter("a=1.0..2.0..3.0"), parameter("m.b=1.0..3.0..5.0")};
  const auto result = tornado(parabola, parameters, std::vector<std::string>{"y"}, {});
  ASSERT_TRUE(result);
  const Tornado& t = result->front();
  EXPECT_EQ(t.base, 18);
  ASSERT_EQ(t.bars.size(), 2U);
  EXPECT_EQ(t.bars[0].path, "m.b");  // 2 .. 50 is wider than 9 .. 27
  EXPECT_EQ(t.bars[0].at_low, 2);
  EXPECT_EQ(t.bars[0].at_high, 50);
  EXPECT_NEAR(*t.bars[0].elasticity, 2, 1e-9);
  EXPECT_NEAR(*t.bars[1].elasticity, 1, 1e-9);
}

TEST(tornado, an_end_that_cannot_be_keeps_its_reason) {
  const std::vector parameters = {parameter("m.b=1.0..3.0..99.0")};
  const auto result = tornado(parabola, parameters, std::vector<std::string>{"y"}, {});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->front().bars[0].at_high);
  EXPECT_NE(result->front().bars[0].note.find("too large"), std::string::npos);
}

TEST(sweep, runs_all_combinations_in_order_whatever_the_threads) {
  const std::vector parameters = {parameter("a=1..3:3"), parameter("m.b=80,95")};
  const auto one = sweep(parabola, parameters, {.threads = 1, .progress = {}});
  const auto many = sweep(parabola, parameters, {.threads = 7, .progress = {}});
  ASSERT_TRUE(one && many);
  ASSERT_EQ(one->size(), 6U);
  EXPECT_EQ((*one)[2].sets, (std::vector<std::string>{"a=2", "m.b=80"}));
  EXPECT_FALSE((*one)[3].outcome);
  for (std::size_t i = 0; i < one->size(); i += 2) {
    EXPECT_EQ((*one)[i].outcome->front().value, (*many)[i].outcome->front().value);
  }
}

TEST(monte_carlo, moments_correlation_and_seed) {
  const std::vector parameters = {parameter("a=1.0..3.0"), parameter("m.b=2.9..3.1")};
  const MonteCarloOptions what{.samples = 4000, .seed = 5, .rank_prefix = ""};
  const std::vector<std::string> metrics = {"case/y"};
  const auto result = monte_carlo(parabola, parameters, metrics, what, {.threads = 3, .progress = {}});
  ASSERT_TRUE(result);
  const Spread& y = result->spreads.front();
  EXPECT_NEAR(y.mean, 2 * (9 + 0.01 / 3), 0.2);
  EXPECT_NEAR(y.p50, 18, 0.4);
  EXPECT_GT(y.correlation[0], 0.95);
  EXPECT_LT(y.correlation[1], 0.3);
  EXPECT_EQ(monte_carlo(parabola, parameters, metrics, what, {})->values, result->values);
  MonteCarloOptions other = what;
  other.seed = 6;
  EXPECT_NE(monte_carlo(parabola, parameters, metrics, other, {})->values, result->values);
}

// Adding a parameter must not move the samples of the others.
TEST(monte_carlo, streams_belong_to_parameters) {
  const std::vector two = {parameter("z=0.0..1.0"), parameter("a=1.0..3.0")};
  const std::vector one = {parameter("a=1.0..3.0")};
  const MonteCarloOptions what{.samples = 50, .seed = 5, .rank_prefix = ""};
  const std::vector<std::string> metrics = {"y"};
  EXPECT_EQ(monte_carlo(parabola, two, metrics, what, {})->values,
            monte_carlo(parabola, one, metrics, what, {})->values);
}

TEST(monte_carlo, ranks_change_as_often_as_they_should) {
  const std::vector parameters = {parameter("a=0.0..4.0"), parameter("m.b=2.0..4.0")};  // P(a > b) = 1/4, base b > a
  const auto result = monte_carlo(parabola, parameters, std::vector<std::string>{"y"},
                                  {.samples = 4000, .seed = 1, .rank_prefix = "rank/"}, {});
  ASSERT_TRUE(result && result->ranks);
  EXPECT_EQ(result->ranks->names, (std::vector<std::string>{"rank/b", "rank/a"}));
  EXPECT_NEAR(result->ranks->same_order, 0.75, 0.02);
  EXPECT_NEAR(result->ranks->mean_tau, 0.5, 0.04);
}

TEST(break_even, finds_the_crossing) {
  const auto b = break_even(parabola, parameter("m.b=1.0..80.0"), "y", 200);
  ASSERT_TRUE(b && b->at);
  EXPECT_NEAR(*b->at, 10, 1e-6);
  EXPECT_LT(b->evaluations, 60);
  const auto whole = break_even(parabola, parameter("m.b=1..80"), "y", 201);
  ASSERT_TRUE(whole && whole->at);
  EXPECT_EQ(*whole->at, 11);  // the first whole value on the far side
  EXPECT_EQ(whole->bracket_low, 10);
  const auto end = break_even(parabola, parameter("m.b=10.0..80.0"), "y", 200);
  EXPECT_EQ(end->at, 10);
}

TEST(break_even, no_crossing_tells_both_ends) {
  const auto b = break_even(parabola, parameter("m.b=1.0..4.0"), "y", 200);
  ASSERT_TRUE(b);
  EXPECT_FALSE(b->at);
  EXPECT_EQ(b->value_low, 2);
  EXPECT_EQ(b->value_high, 32);
  EXPECT_NE(b->reading.find("stays below"), std::string::npos);
}

TEST(break_even, a_broken_end_is_an_error) { EXPECT_FALSE(break_even(parabola, parameter("m.b=1.0..95.0"), "y", 200)); }

TEST(find_metric, takes_a_unique_ending_and_names_the_near) {
  const std::vector<Metric> metrics = {{"a/step_time", 1, "s"}, {"b/step_time", 1, "s"}, {"b/energy", 1, "J"}};
  EXPECT_EQ(find_metric(metrics, "energy"), 2U);
  EXPECT_EQ(find_metric(metrics, "b/step_time"), 1U);
  EXPECT_FALSE(find_metric(metrics, "step_time"));
  const auto missing = find_metric(metrics, "enrgy");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("for example b/energy"), std::string::npos);
}

RC_GTEST_PROP(break_even, is_right_on_any_monotone_power, ()) {
  const double exponent = *rc::gen::inRange(1, 40) / 10.0;
  const double answer = 1 + *rc::gen::inRange(1, 9000) / 100.0;
  const Experiment power = [&](const std::vector<std::string>& sets) -> Outcome {
    return std::vector<Metric>{{"y", std::pow(given(sets, "x", 1), -exponent), ""}};
  };
  const auto b = break_even(power, parameter("x=1.0..100.0:log"), "y", std::pow(answer, -exponent));
  RC_ASSERT(b && b->at);
  RC_ASSERT(std::abs(*b->at - answer) < 1e-5);
}

// Red if a line of one kind hid another, or if the lines depended on the order of the points.
TEST(declarations, lines_that_differ_in_numbers_alone_are_one) {
  const std::vector<std::string> texts = {"memory rate is 2.5 TB/s in place of 3.35 TB/s", "memory rate is 26 TB/s in "
                                          "place of 3.35 TB/s", "memory is 32 TB in place of 80 GB"};
  Declarations forward, backward;
  for (const std::string& text : texts) forward.add("OVERRIDE", text);
  for (auto at = texts.rbegin(); at != texts.rend(); ++at) backward.add("OVERRIDE", *at);
  backward.add("OVERRIDE", texts[2]);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"OVERRIDE", texts[2]}, {"OVERRIDE", texts[0] + "; other numbers at other points"}};
  EXPECT_EQ(forward.lines(), expected);
  EXPECT_EQ(backward.lines(), expected);
  EXPECT_TRUE(Declarations().lines().empty());
}

TEST(report, every_analysis_is_in_text_json_and_csv) {
  const std::vector parameters = {parameter("a=1.0..2.0..3.0"), parameter("m.b=1.0..3.0..5.0")};
  const std::vector<std::string> metrics = {"y"};
  report::Report report;
  add_sweep(report, *sweep(parabola, parameters, {}), metrics);
  add_tornado(report, *tornado(parabola, parameters, metrics, {}));
  const MonteCarloOptions what{.samples = 20, .seed = 1, .rank_prefix = "rank/"};
  add_monte_carlo(report, *monte_carlo(parabola, parameters, metrics, what, {}), parameters, what);
  add_break_even(report, parameters[1], *break_even(parabola, parameters[1], "y", 20));
  finish(report);
  for (const report::Case& c : report.cases) EXPECT_EQ(c.values.size(), report.metrics.size());
  EXPECT_EQ(report::value_of(report, *report::find_case(report, "tornado/m.b/high"), "case/y"), 50);
  EXPECT_NEAR(*report::value_of(report, *report::find_case(report, "break_even/m.b"), "case/y.parameter"),
              std::sqrt(10), 1e-6);
  EXPECT_NE(report::render_csv(report).find("correlation/a"), std::string::npos);
  EXPECT_TRUE(report::read_report(report::render_json(report), "report.json"));
  EXPECT_NE(report::render_text(report, {}).find("#|#"), std::string::npos);
}

}  // namespace
}  // namespace photonrail::sensitivity

// Scenario files: what is read, what is refused and with which words, and that what is shown reads back.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "config/write.h"
#include "model/scenario_describe.h"
#include "model/scenario_text.h"

namespace photonrail::model {
namespace {

constexpr std::string_view kGood = R"(name = "good"
[model]
catalog = "llama"
[training]
global_batch = 256
microbatches = 16
[parallelism]
data = 4
pipeline = 4
tensor = 8
[cluster]
gpus = 128
[switching]
times = [0, "10 ms"]
[control]
policies = ["on_demand", "oracle"]
[electrical]
fabrics = ["rail_optimised"]
)";

Result<LoadedScenario> parse(std::string_view text, const std::vector<std::string>& sets = {}) {
  return parse_scenario(text, "s.toml", sets);
}

std::string errors(std::string_view text, const std::vector<std::string>& sets = {}) {
  const Result<LoadedScenario> loaded = parse(text, sets);
  return loaded ? "accepted" : loaded.error().message;
}

TEST(Scenario, DefaultsFileAndOptionsInLayers) {
  const Result<LoadedScenario> loaded = parse(kGood, {"rail.ports=2", "switching.dark=9 ms"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->scenario.cluster.gpus, 128);
  EXPECT_EQ(loaded->scenario.rail.ports, 2);
  EXPECT_EQ(loaded->scenario.rail.port_rate, gigabits_per_second(100));
  EXPECT_EQ(loaded->scenario.switching.times, (std::vector<Time>{{}, milliseconds(10)}));
  EXPECT_EQ(loaded->scenario.switching.dark->typical, milliseconds(9));
  EXPECT_FALSE(loaded->scenario.switching.settle);
  EXPECT_EQ(loaded->scenario.switching.link_up.typical, seconds(3));
  EXPECT_EQ(loaded->origin("cluster.gpus"), "s.toml:12");
  EXPECT_EQ(loaded->origin("rail.ports"), "--set");
  EXPECT_EQ(loaded->origin("rail.port_rate"), "default");
  EXPECT_TRUE(loaded->given("model.catalog"));
  EXPECT_FALSE(loaded->given("model.layers"));
  EXPECT_NE(loaded->warnings().find("2 photonic ports of 12.5 GB/s give a GPU 25 GB/s"), std::string::npos);
}

TEST(Scenario, MatricesOfTheMlpAreLeftToANamedModel) {
  EXPECT_EQ(parse(kGood)->scenario.model.feed_forward_matrices, 0);
  const std::vector<std::string> own = {"model.catalog=",         "model.layers=8", "model.hidden=64",
                                        "model.feed_forward=256", "model.heads=8",  "model.vocabulary=100"};
  const Result<LoadedScenario> loaded = parse(kGood, own);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->scenario.model.feed_forward_matrices, 3);
}

TEST(Scenario, ATimeMayScatter) {
  const Result<LoadedScenario> loaded =
      parse(kGood, {R"(switching.link_up={ shape = "lognormal", typical = "3 s", spread = 0.1, source = "a page" })"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Distribution& d = loaded->scenario.switching.link_up;
  EXPECT_EQ(d.shape, Distribution::Shape::lognormal);
  EXPECT_EQ(d.typical, seconds(3));
  EXPECT_EQ(d.spread, 0.1);
  EXPECT_EQ(d.source, "a page");
}

// A plain time replaces the whole default, its source too: no figure keeps the source of another.
TEST(Scenario, APlainTimeDropsTheDefaultSource) {
  EXPECT_EQ(parse(kGood, {"switching.link_up=1 s"})->scenario.switching.link_up.source, "");
  EXPECT_NE(parse(kGood)->scenario.switching.link_up.source, "");
}

TEST(Scenario, DegreesThatDoNotMultiplyShowEveryLine) {
  EXPECT_EQ(errors(R"([model]
catalog = "llama"
[training]
global_batch = 8
[parallelism]
data = 4
tensor = 8
[cluster]
gpus = 128
[control]
policies = ["oracle"]
)",
                   {"baseline=oracle"}),
            R"(s.toml:9:8: error: data 4 x pipeline 1 x tensor 8 makes 32 GPUs, but the cluster has 128
    9 | gpus = 128
      |        ^~~
      = hint: the three degrees multiply to cluster.gpus
s.toml:6:8: note: parallelism.data is 4
    6 | data = 4
      |        ^
s.toml: note: parallelism.pipeline is 1 (not set here)
s.toml:7:10: note: parallelism.tensor is 8
    7 | tensor = 8
      |          ^)");
}

// Each rule, broken alone; the words are those that the user reads.
TEST(Scenario, RulesBetweenFields) {
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"training.global_batch=100"},
       "the batch does not split evenly over data ranks and microbatches: 100 is not a multiple of 64"},
      {{"training.global_batch=0"}, "training.global_batch is missing"},
      {{"cluster.gpus=0"}, "cluster.gpus is missing"},
      {{"model.catalog="}, "model.catalog is missing"},
      {{"model.layers=10"}, "the layers do not split evenly over pipeline stages: 10 is not a multiple of 4"},
      {{"model.heads=12"}, "the heads do not split evenly over tensor ranks: 12 is not a multiple of 8"},
      {{"model.heads=16", "model.kv_heads=3"},
       "query heads do not share key and value heads evenly: 16 is not a multiple of 3"},
      {{"model.heads=24", "model.kv_heads=12"},
       "the key and value heads do not split evenly over tensor ranks: 12 is not a multiple of 8"},
      {{"model.heads=16", "model.hidden=100"},
       "the width does not split evenly over heads: 100 is not a multiple of 16"},
      {{"model.feed_forward=100"}, "the MLP does not split evenly over tensor ranks: 100 is not a multiple of 8"},
      {{"training.sequence=100"}, "the sequence does not split evenly over tensor ranks: 100 is not a multiple of 8"},
      {{"cluster.domain=256"}, "the cluster is not made of whole scale-up domains: 128 is not a multiple of 256"},
      {{"parallelism.tensor=2", "parallelism.data=16", "cluster.domain=1"}, "accepted"},
      {{"cluster.gpus=96", "parallelism.data=2", "parallelism.tensor=12", "cluster.domain=8", "training.sequence=4800"},
       "tensor groups of 12 do not fit scale-up domains of 8"},
      {{"switching.times=1 ms,2 ms,1000 us"}, "switching.times holds this value twice"},
      {{"control.policies=oracle,oracle"}, "control.policies holds this value twice"},
      {{"electrical.fabrics=rail_optimised,rail_optimised"}, "electrical.fabrics holds this value twice"},
      {{"control.policies=[]", "electrical.fabrics=[]"}, "nothing to run"},
      {{"baseline=fat_tree"}, "the baseline \"fat_tree\" is not among the cases that are run"},
      {{"electrical.fabrics=[]"}, "the baseline \"rail_optimised\" is not among the cases that are run"},
      {{"switching.dark={shape=\"uniform\", typical=\"2 ms\", high=\"1 ms\"}"}, "the high end lies below the low end"},
      {{"switching.dark={typical=\"2 ms\", high=\"1 ms\"}"}, "high has no meaning with shape \"constant\""},
      {{"switching.dark={typical=\"2 ms\", spread=1}"}, "spread has no meaning with shape \"constant\""},
  };
  for (const auto& [sets, message] : kCases) {
    const std::string whole = errors(kGood, sets);
    EXPECT_NE(whole.find(message), std::string::npos) << sets.front() << "\n" << whole;
    EXPECT_EQ(whole.find(" errors"), std::string::npos) << sets.front() << "\n" << whole;
  }
}

TEST(Scenario, WhatATraceMakesUselessIsRefused) {
  const std::string whole = errors(kGood, {"workload.trace=t.tar"});
  EXPECT_NE(whole.find("s.toml:2:2: error: [model] has no effect with a trace"), std::string::npos) << whole;
  EXPECT_NE(whole.find("s.toml:4:2: error: [training] has no effect with a trace"), std::string::npos) << whole;
}

TEST(Scenario, SelectiveLimits) {
  for (const char* set :
       {"rail.ports=0", "rail.ports=65", "rail.port_rate=0", "rail.latency=-1 us", "scale_up.rate=0 GB/s",
        "parallelism.data=0", "training.microbatches=0", "cluster.matmul_efficiency=0", "cluster.matmul_efficiency=1.1",
        "electrical.oversubscription=0.5", "cost.spare_ports=2", "profile_iterations=-1", "seed=-1",
        "switching.times=-1 ms", "switching.link_up=2 h", "model.feed_forward_matrices=4"}) {
    EXPECT_NE(errors(kGood, {set}).find("out"), std::string::npos) << set;
  }
}

TEST(Scenario, SeveralErrorsAtOnceAndUnknownTable) {
  const std::string whole = errors(
      "[raill]\nports = 4\n[rail]\nport_rate = \"50 GB\"\nlatency = \"1\"\n[control]\npolicies = [\"on-demand\"]\n");
  EXPECT_EQ(whole, R"(s.toml:1:2: error: unknown table "raill" at the top level
    1 | [raill]
      |  ^~~~~
      = hint: did you mean "rail"?
s.toml:4:13: error: "50 GB" is a size, but a rate is wanted, such as "50 GB/s"
    4 | port_rate = "50 GB"
      |             ^~~~~~~
s.toml:5:11: error: "1" has no unit; a time is wanted, such as "25 ms"
    5 | latency = "1"
      |           ^~~
s.toml:7:13: error: "on-demand" is not one of "static_proportional", "static_sqrt", "on_demand", )"
                   R"("provisioned", "oracle"; )"
                   R"(did you mean "on_demand"?
    7 | policies = ["on-demand"]
      |             ^~~~~~~~~~~
4 errors)");
}

// A misspelt key and degrees that do not multiply are one report; a rule over a field with an error is left out.
TEST(Scenario, RulesBetweenSoundFieldsAreReportedBesideOtherErrors) {
  const std::string degrees = "[cluster]\ngpus = 24\n[parallelism]\ndata = 4\npipeline = 2\ntensor = 2\n";
  const std::string both = errors(degrees + "[rail]\nportz = 4\n");
  EXPECT_NE(both.find("s.toml:2:8: error: data 4 x pipeline 2 x tensor 2 makes 16 GPUs"), std::string::npos) << both;
  EXPECT_NE(both.find("unknown key \"portz\""), std::string::npos) << both;
  EXPECT_NE(both.find("2 errors"), std::string::npos) << both;
  const std::string alone = errors("[cluster]\ngpus = 24\n[parallelism]\ndata = \"four\"\npipeline = 2\ntensor = 2\n");
  EXPECT_EQ(alone.find("makes"), std::string::npos) << alone;
}

TEST(Scenario, RulesRunAgainOnACompletedModel) {
  Result<LoadedScenario> loaded = parse(kGood);
  loaded->scenario.model.layers = 61;
  const Status status = check(*loaded);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            R"(s.toml:9:12: error: the layers do not split evenly over pipeline stages: 61 is not a multiple of 4
    9 | pipeline = 4
      |            ^
s.toml: note: model.layers is 61 (not set here))");
}

TEST(Scenario, TracePathIsRelativeToTheFile) {
  Result<LoadedScenario> loaded =
      parse("[workload]\ntrace = \"t\"\n[control]\npolicies = [\"oracle\"]\n", {"baseline=oracle"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  loaded->directory = "runs/a";
  EXPECT_EQ(loaded->trace_path(), "runs/a/t");
  EXPECT_EQ(loaded->group_file_path(), "");
  loaded = parse("[control]\npolicies = [\"oracle\"]\n", {"baseline=oracle", "workload.trace=t"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  loaded->directory = "runs/a";
  EXPECT_EQ(loaded->trace_path(), "t");
}

TEST(Scenario, AFileThatIsNotThere) {
  const Result<LoadedScenario> loaded = load_scenario("none/such.toml");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::io);
}

TEST(Scenario, ShowReadsBackAndNamesOrigins) {
  const Result<LoadedScenario> loaded = parse(kGood, {"rail.ports=2"});
  const std::string shown = show_scenario(*loaded);
  EXPECT_NE(shown.find("gpus = 128                                    # s.toml:12\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("ports = 2                                     # --set\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("# dark is not given: as of the OCS in the catalog\n"), std::string::npos) << shown;
  const Result<LoadedScenario> again = parse(shown);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(canonical_text(again->scenario), canonical_text(loaded->scenario));
}

TEST(Scenario, AShownTraceScenarioReadsBack) {
  const Result<LoadedScenario> loaded =
      parse("[workload]\ntrace = \"t\"\n[control]\npolicies = [\"oracle\"]\n", {"baseline=oracle"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(errors(scenario_toml(loaded->scenario)), "accepted");
}

TEST(Scenario, CanonicalTextTellsScenariosApart) {
  const std::string good = canonical_text(parse(kGood)->scenario);
  EXPECT_EQ(good, canonical_text(parse(kGood, {"rail.ports=4"})->scenario));
  EXPECT_NE(good, canonical_text(parse(kGood, {"rail.ports=3"})->scenario));
  EXPECT_NE(good, canonical_text(parse(kGood, {"switching.settle=0"})->scenario));
}

Distribution any_distribution() {
  Distribution d;
  d.shape = *rc::gen::element(Distribution::Shape::constant, Distribution::Shape::uniform, Distribution::Shape::normal);
  d.typical = Time{*rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000)};
  if (d.shape == Distribution::Shape::uniform) d.high = d.typical + d.typical;
  if (d.shape == Distribution::Shape::normal) d.spread = *rc::gen::inRange(0, 1000) / 1024.0;
  d.source = *rc::gen::element<std::string>("", "a \"page\"", "é\n");
  return d;
}

// Whatever a scenario holds, its text reads back as the same.
RC_GTEST_PROP(Scenario, AnyScenarioRoundTrips, ()) {
  Scenario s = parse(kGood)->scenario;
  s.rail.ports = *rc::gen::inRange(1, 65);
  s.rail.port_rate = Rate{*rc::gen::inRange<std::int64_t>(1, 4'000'000'000'000)};
  s.rail.latency = Time{*rc::gen::inRange<std::int64_t>(0, 1'000'000'000)};
  s.seed = static_cast<std::uint64_t>(*rc::gen::inRange<std::int64_t>(0, INT64_MAX));
  s.training.sharding = *rc::gen::element(Sharding::zero0, Sharding::zero1, Sharding::zero2, Sharding::zero3);
  s.training.schedule = *rc::gen::element(Schedule::gpipe, Schedule::one_f_one_b);
  s.training.recompute = *rc::gen::element(Recompute::none, Recompute::selective, Recompute::full);
  s.cost.gpu_power = Power{*rc::gen::inRange(0, 1'000'000) / 7.0 / 100};
  s.cost.fibre_price = Dollars{*rc::gen::inRange(0, 1'000'000) / 13.0};
  s.switching.request = any_distribution();
  s.switching.link_up = any_distribution();
  if (*rc::gen::arbitrary<bool>()) s.switching.dark = any_distribution();
  const Result<LoadedScenario> again = parse(scenario_toml(s));
  if (!again) RC_FAIL(again.error().message);
  RC_ASSERT(canonical_text(again->scenario) == canonical_text(s));
  RC_ASSERT(again->scenario.rail.port_rate == s.rail.port_rate);
  RC_ASSERT(again->scenario.cost.fibre_price == s.cost.fibre_price);
}

std::size_t check_docs(config::Fields& fields, const std::string& path) {
  std::size_t keys = 0;
  for (config::Fields::Field& field : fields.all()) {
    const std::string here = fmt::format("{}.{}", path, field.name);
    EXPECT_FALSE(field.meta.doc.empty()) << here;
    EXPECT_TRUE(field.value->form() != config::Form::optional || !field.meta.absent.empty()) << here;
    ++keys;
    if (field.value->form() != config::Form::table) continue;
    config::Fields inner = static_cast<config::TableValue&>(*field.value).fields();
    keys += check_docs(inner, here);
  }
  return keys;
}

TEST(Scenario, EveryKeyIsDocumented) {
  Scenario scenario;
  config::Fields fields;
  describe(fields, scenario);
  EXPECT_GT(check_docs(fields, ""), 80U);
  EXPECT_NE(scenario_reference_markdown().find("## [switching]"), std::string::npos);
  EXPECT_NE(scenario_schema().find("\"additionalProperties\": false"), std::string::npos);
}

}  // namespace
}  // namespace photonrail::model

// Folders of targets: what is read, what is refused with its position, and rows of the published workloads.
#include "published/reproduce.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "published/opus_data.h"

namespace photonrail::published {
namespace {

namespace fs = std::filesystem;

const std::string kData = PHOTONRAIL_SOURCE_DIR "/../shared/data/opus";
const std::string kHeader =
    "figure,workload,npus,model,dp,pp,tp,scale_out_GBps,scale_up_GBps,mode,delay_ms,published_sys0_ns,"
    "published_last_ns,published_exposed_ns,source\n";

std::string error_of(const std::string& text) {
  const auto targets = parse_targets(text, "targets.csv");
  EXPECT_FALSE(targets);
  return targets ? "" : targets.error().message;
}

TEST(Targets, ReadsEveryModeAndKindOfFigure) {
  const auto targets =
      parse_targets(kHeader +
                        "12,fig12,128,llama,4,4,8,50,450,static_ideal(136.8/412.8/43.1),,,121,100,\"a, \"\"b\"\"\"\n"
                        "smoke,smoke,8,gpt,2,2,2,12.5,450,eps=ondemand,0,,62.2416 s,,README\r\n"
                        "smoke,smoke,8,gpt,2,2,2,50,450,provision,,1,not published,,own\n",
                    "targets.csv");
  ASSERT_TRUE(targets) << targets.error().message;
  ASSERT_EQ(targets->size(), 3U);
  const Target& ideal = (*targets)[0];
  EXPECT_EQ(ideal.config.mode, Mode::static_ideal);
  ASSERT_TRUE(ideal.config.split);
  EXPECT_EQ(ideal.config.split->data, 136.8);
  EXPECT_EQ(ideal.config.split->tensor, 412.8);
  EXPECT_EQ(ideal.config.split->pipeline, 43.1);
  EXPECT_EQ(ideal.last->value, 121);
  EXPECT_EQ(ideal.source, "a, \"b\"");
  const Target& seconds = (*targets)[1];
  EXPECT_EQ(seconds.config.mode, Mode::on_demand);
  EXPECT_EQ(seconds.config.scale_out_GBps, 12.5);
  EXPECT_TRUE(seconds.last->in_seconds);
  EXPECT_EQ(seconds.last->decimals, 4);
  EXPECT_EQ((*targets)[2].config.delay_ms, -1) << "left to network.yml";
  EXPECT_FALSE((*targets)[2].last);
}

TEST(Targets, ColumnsMayComeInAnyOrderButAllMustBeKnown) {
  std::string header = kHeader;
  header.replace(header.find(",mode,"), 6, ",mood,");
  EXPECT_EQ(error_of(header), "targets.csv:1: column mode is missing");
  const std::string extra = kHeader.substr(0, kHeader.size() - 1) + ",colour\n";
  EXPECT_NE(error_of(extra).find("targets.csv:1: unknown column \"colour\""), std::string::npos);
}

TEST(Targets, FaultyLinesSayWhereAndWhy) {
  const std::string text = kHeader +
                           "12,fig12,128,llama,4,4,8,50,450,adaptive,0,,,,\n"
                           "12,fig12,128,llama,4,4,4,50,450,ondemand,0,,,,\n"
                           "12,fig12,128,llama,4,4,8,50,-1,ondemand,0,,,,\n"
                           "12,fig12\n"
                           "12,fig12,128,llama,4,4,8,50,450,ondemand,0,,12s,,\n";
  const auto targets = parse_targets(text + "12,fig12,128,llama,4,4,8,50,450,ondemand,0,,12,,\n", "targets.csv");
  ASSERT_TRUE(targets);
  const std::vector<std::string> faults = {"targets.csv:2: column mode: \"adaptive\" is no known mode",
                                           "targets.csv:3: column npus", "targets.csv:4: column scale_up_GBps: \"-1\"",
                                           "targets.csv:5: 2 fields, the header has 15",
                                           "targets.csv:6: column published_last_ns: \"12s\" is neither"};
  ASSERT_EQ(targets->size(), faults.size() + 1);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_TRUE((*targets)[i].fault.starts_with(faults[i])) << (*targets)[i].fault;
  }
  EXPECT_EQ(targets->back().fault, "") << "a good line among faulty ones";
}

TEST(Configs, RefusesWhatThePublishedRulesDoNotCover) {
  PublishedConfig config;
  const auto system = [&](const std::string& text) {
    const Status status = apply_system(text, "system.json", config);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(
      system("{\"endpoint-delay\": 20, \"preferred-dataset-splits\": 8, \"local-mem-bw\": 8000, \"peak-perf\": 1250}"),
      "");
  EXPECT_EQ(config.endpoint_delay_ns, 20);
  EXPECT_EQ(config.splits, 8U);
  EXPECT_EQ(config.local_memory_GBps, 8000);
  EXPECT_NE(system("{\"speed\": 1}").find("unknown key \"speed\""), std::string::npos);
  EXPECT_NE(system("{\"all-reduce-implementation\": [\"direct\"]}").find("cover only [\"ring\"]"), std::string::npos);
  EXPECT_NE(system("{\"endpoint-delay\": 10}").find("\"preferred-dataset-splits\" must be a number"),
            std::string::npos);
  EXPECT_NE(system("[1").find("not a JSON object"), std::string::npos);
  config.dp = config.pp = config.tp = 2;
  const auto network = [&](const std::string& text) {
    const Status status = apply_network(text, "network.yml", config);
    return status ? std::string() : status.error().message;
  };
  config.delay_ms = -1;
  EXPECT_EQ(
      network("topology: [ FullyConnected ]\nnpus_count: [ 8 ]  # ours\nlatency: [ 500 ]\nreconfig_time: 2000000\n"),
      "");
  EXPECT_EQ(config.latency_ns, 500);
  EXPECT_EQ(config.delay_ms, 2);
  EXPECT_NE(network("topology: [ Ring ]").find("network.yml:1: topology \"Ring\" is not FullyConnected"),
            std::string::npos);
  EXPECT_NE(network("\nnpus_count: [ 9 ]").find("network.yml:2: npus_count \"9\" differs from the 8 NPUs"),
            std::string::npos);
  EXPECT_NE(network("colour: 3").find("unknown key"), std::string::npos);
}

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / ("photonrail-reproduce-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string only_refusal(const std::string& folder) {
  const auto rows = reproduce_opus(folder, {}, {});
  if (!rows || rows->size() != 1 || !rows->front().refused || rows->front().ours) return "not one refused row";
  return rows->front().refused->message;
}

TEST(Reproduce, NamesTheTargetWhoseWorkloadIsMissing) {
  const TemporaryFolder folder;
  folder.write("targets.csv", kHeader + "12,tiny,8,gpt,2,2,2,50,450,static_eps,,,1,,\n");
  const std::string unconfigured = only_refusal(folder.path());
  EXPECT_NE(unconfigured.find("targets.csv:2: "), std::string::npos) << unconfigured;
  EXPECT_NE(unconfigured.find("configs/tiny/system.json"), std::string::npos) << unconfigured;
  folder.write("configs/tiny/system.json",
               "{\"endpoint-delay\": 10, \"preferred-dataset-splits\": 4, \"local-mem-bw\": 4800, \"peak-perf\": 989}");
  folder.write("configs/tiny/network.yml", "latency: [ 936.25 ]\n");
  folder.write("traces/other.tar.xz", "");
  const std::string untraced = only_refusal(folder.path());
  EXPECT_NE(untraced.find("targets.csv:2: "), std::string::npos) << untraced;
  EXPECT_NE(untraced.find("no archive or folder holds workload \"tiny\""), std::string::npos) << untraced;
}

// Faulty lines beside one that runs, without a delay and without a published figure.
TEST(Reproduce, LinesThatCannotRunDoNotLoseTheOthers) {
  if (!fs::exists(kData)) GTEST_SKIP() << kData << " is absent";
  const TemporaryFolder folder;
  for (const char* part : {"configs", "traces", "golden"}) {
    fs::create_directory_symlink(fs::absolute(fs::path(kData) / part), fs::path(folder.path()) / part);
  }
  folder.write("targets.csv", kHeader +
                                  "x,nosuch,8,gpt,2,2,2,50,450,ondemand,0,,7,,\n"
                                  "x,smoke,8,gpt,2,2,2,50,450,ondemand,,,,,\n"
                                  "x,smoke,8,gpt,2,2,2,50,450,adaptive,0,,,,\n"
                                  "x,smoke\n");
  const auto rows = reproduce_opus(folder.path(), {}, {});
  ASSERT_TRUE(rows) << rows.error().message;
  std::vector<std::string> ids, refused;
  for (const model::ReproduceRow& row : *rows) {
    ids.push_back(row.id);
    EXPECT_NE(row.ours.has_value(), row.refused.has_value()) << row.id;
    if (row.refused) refused.push_back(row.refused->message);
  }
  const std::string ran = "opus/smoke/dp2pp2tp2/50-450GBps/ondemand/0ms/";
  EXPECT_EQ(ids,
            (std::vector<std::string>{"opus/nosuch/ondemand/line2/last", ran + "last", ran + "golden",
                                      ran + "topology-changes", "opus/smoke/adaptive/line4/last", "opus/line5/last"}));
  EXPECT_EQ((*rows)[0].published, 7.0);
  ASSERT_EQ(refused.size(), 3U);
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const std::string place = "targets.csv:" + std::to_string(std::vector<int>{2, 4, 5}[i]) + ": ";
    EXPECT_NE(refused[i].find(place), std::string::npos) << refused[i];
  }
}

TEST(Reproduce, RefusesAFolderWithoutTargets) {
  const auto rows = reproduce_opus("/nonexistent", {}, {});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::io);
}

// One target of each kind; all of them are run by the reproduce command.
TEST(Reproduce, PublishedRowsToTheNanosecond) {
  if (!fs::exists(kData)) GTEST_SKIP() << kData << " is absent";
  ReproduceOptions options;
  options.only = {"opus/smoke", "fig12/dp4pp4tp8/50-450GBps/static", "fig12/dp4pp4tp8/50-450GBps/provision/1000ms",
                  "fig13/dp4pp4tp32/100-1800GBps/ondemand/100ms", "h200_dp16"};
  std::size_t last_done = 0;
  const auto rows =
      reproduce_opus(kData, options, [&](std::size_t done, std::size_t, const std::string&) { last_done = done; });
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(last_done, 15U);
  std::size_t compared = 0;
  for (const model::ReproduceRow& row : *rows) {
    if (!row.published) continue;
    EXPECT_EQ(row.ours, *row.published) << row.id;
    EXPECT_EQ(row.relative_error, 0.0) << row.id;
    ++compared;
  }
  EXPECT_GE(compared, 35U);
  const bool exposed = std::any_of(rows->begin(), rows->end(), [](const auto& row) {
    return row.id == "opus/fig12/dp4pp4tp8/50-450GBps/provision/1000ms/exposed" && row.ours == 15'851'510'840;
  });
  EXPECT_TRUE(exposed);
}

}  // namespace
}  // namespace photonrail::published

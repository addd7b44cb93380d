#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <filesystem>
#include <map>

#include "workload/chakra_test_writer.h"
#include "workload/collective.h"
#include "workload/import.h"

namespace photonrail::workload {
namespace {

using namespace test;
using model::Collective;
using model::Dimension;
using model::Task;
using model::TaskKind;
namespace fs = std::filesystem;

const fs::path kShared = fs::path(PHOTONRAIL_SOURCE_DIR) / ".." / "shared";

// Traces given as text, one a rank, written to a directory and read back.
Result<TraceSet> set_of(const std::vector<std::string>& ranks, const std::string& groups = "") {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const fs::path directory = fs::temp_directory_path() / fmt::format("photonrail_import_{}", info->name());
  fs::remove_all(directory);
  fs::create_directories(directory);
  const auto write = [&](const std::string& name, const std::string& content) {
    std::FILE* out = std::fopen((directory / name).c_str(), "wb");
    std::fwrite(content.data(), 1, content.size(), out);
    std::fclose(out);
  };
  for (std::size_t r = 0; r < ranks.size(); ++r) write(fmt::format("t.{}.et", r), metadata() + ranks[r]);
  if (!groups.empty()) write("t.json", groups);
  auto set = read_traces(directory.string(), {.keep_names = true, .group_file = "", .progress = {}});
  fs::remove_all(directory);
  return set;
}

ImportOptions options(std::int64_t domain = 8) {
  ImportOptions out;
  out.gpu.peak = {1e12};
  out.gpu.memory = gigabytes_per_second(1000);
  out.domain = domain;
  return out;
}

Result<ImportedStep> import(const std::vector<std::string>& ranks, const std::string& groups = "",
                            std::int64_t domain = 8) {
  const auto set = set_of(ranks, groups);
  if (!set) return fail(set.error());
  auto step = import_step(*set, options(domain));
  if (step) {
    const Status status = check(step->graph);
    EXPECT_TRUE(status.has_value()) << status.error().message;
  }
  return step;
}

void expect_refused(const std::vector<std::string>& ranks, const std::string& groups,
                    const std::vector<std::string>& fragments) {
  const auto step = import(ranks, groups);
  ASSERT_FALSE(step.has_value());
  for (const std::string& fragment : fragments)
    EXPECT_NE(step.error().message.find(fragment), std::string::npos) << step.error().message << "\nlacks " << fragment;
}

TEST(Import, AppliesTheConventions) {
  const std::vector<std::string> ranks = {
      compute(1, 1'000'000, 10) + collective(2, 2, 100, "", {1}) + replay(3, 7, {2}),
      compute(1, 1'000'000, 10) + collective(2, 2, 100, "", {1}) + replay(3, 7, {2})};
  const auto step = import(ranks);
  ASSERT_TRUE(step.has_value()) << step.error().message;
  ASSERT_EQ(step->graph.programs.size(), 1u);
  const std::vector<Task>& tasks = step->graph.programs[0].tasks;
  EXPECT_EQ(tasks[0].flops, 2e6);                 // multiply-accumulates, so two operations each
  EXPECT_EQ(tasks[0].duration, microseconds(2));  // 2e6 / 1e12 s; 10 bytes at 1 TB/s are less
  EXPECT_EQ(tasks[1].bytes.count, 200);           // an all-gather's comm_size is one rank's piece
  EXPECT_EQ(tasks[2].duration, microseconds(7));
  EXPECT_EQ(step->graph.names[tasks[1].name], "n2");

  ImportOptions other = options();
  other.num_ops_unit = OpsUnit::operations;
  other.tensor_bytes_per_unit = 2'000'000;
  other.comm_bytes_per_unit = 2;
  const auto scaled = import_step(*set_of(ranks), other);
  ASSERT_TRUE(scaled.has_value());
  EXPECT_EQ(scaled->graph.programs[0].tasks[0].flops, 1e6);
  EXPECT_EQ(scaled->graph.programs[0].tasks[0].duration, microseconds(20));  // 2e7 bytes at 1 TB/s
  EXPECT_EQ(scaled->graph.programs[0].tasks[1].bytes.count, 400);
}

TEST(Import, DropsMetadataThatNothingNeeds) {
  const std::string alone = node(1, 1, {}) + replay(2, 1);
  const std::string needed = node(1, 1, {}) + replay(2, 1, {1});
  EXPECT_EQ(import({alone})->graph.programs[0].tasks.size(), 1u);
  const auto step = import({needed});
  ASSERT_EQ(step->graph.programs[0].tasks.size(), 2u);
  EXPECT_EQ(step->graph.programs[0].tasks[0].duration.ps, 0);
}

TEST(Import, GroupOfOneCostsNothing) {
  const auto step = import({collective(1, 0, 64, "1"), collective(1, 0, 64, "2")}, R"({"1": [0], "2": [1]})");
  ASSERT_TRUE(step.has_value()) << step.error().message;
  EXPECT_EQ(step->graph.programs[0].tasks[0].kind, TaskKind::compute);
  EXPECT_EQ(step->graph.programs[0].tasks[0].duration.ps, 0);
}

// Collectives of one group in an order that ids contradict: node 1 needs node 2. Numbering by id would deadlock.
TEST(Import, OrdersCollectivesAsTheyBecomeReady) {
  const std::string trace = collective(1, 0, 64, "", {2}) + collective(2, 0, 32, "") + replay(3, 1, {1});
  const auto step = import({trace, trace});
  ASSERT_TRUE(step.has_value()) << step.error().message;
  EXPECT_EQ(step->graph.programs[0].tasks[0].ordinal, 1u);
  EXPECT_EQ(step->graph.programs[0].tasks[1].ordinal, 0u);
}

// Stage 1's gradient comes back to stage 0 only after stage 0's activation went out, although nothing in the trace of
// stage 0 says so: its tensor group must call the forward collective (node 9) before the backward one (node 2).
TEST(Import, OrdersCollectivesAcrossRanks) {
  const auto first = [](int peer) {
    return receive(1, peer, 5, 16) + collective(2, 0, 99, "1", {1}) + replay(8, 1) + collective(9, 0, 77, "1", {8}) +
           send(10, peer, 4, 16, {9});
  };
  const auto second = [](int peer) { return receive(1, peer, 4, 16) + replay(2, 3, {1}) + send(3, peer, 5, 16, {2}); };
  const auto step = import({first(2), first(3), second(0), second(1)}, R"({"1": [0, 1]})");
  ASSERT_TRUE(step.has_value()) << step.error().message;
  const model::Program& program = step->graph.program(0);
  EXPECT_EQ(program.tasks[1].ordinal, 1u);
  EXPECT_EQ(program.tasks[3].ordinal, 0u);
  EXPECT_EQ(step->graph.stage_of, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(step->graph.program_of, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(program.tasks[0].dimension, Dimension::pipeline);
}

TEST(Import, SplitsRanksWithEqualTracesThatRelateDifferently) {
  // A chain 0 -> 1 -> 2 -> 3 in which the traces of 1 and 2 are the same.
  const auto middle = [](int before, int after) { return receive(1, before, 0, 8) + send(2, after, 0, 8, {1}); };
  const auto step = import({send(1, 1, 0, 8), middle(0, 2), middle(1, 3), receive(1, 2, 0, 8)});
  ASSERT_TRUE(step.has_value()) << step.error().message;
  EXPECT_EQ(step->graph.stage_of, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(step->graph.programs.size(), 4u);
}

TEST(Import, NumbersRepeatedTags) {
  const auto step = import({send(1, 1, -3, 8) + send(2, 1, -3, 9, {1}), receive(1, 0, -3, 8) + receive(2, 0, -3, 9)});
  ASSERT_TRUE(step.has_value()) << step.error().message;
  EXPECT_EQ(step->graph.programs[0].tasks[0].ordinal, 0u);
  EXPECT_EQ(step->graph.programs[0].tasks[1].ordinal, 1u);
}

TEST(Import, RefusesWhatCannotRun) {
  expect_refused({"", ""}, "", {"no nodes"});
  expect_refused({replay(1, 1, {77})}, "", {"rank 0, node 1 'n1'", "node 77"});
  expect_refused({replay(1, 1, {3}) + replay(2, 1, {1}) + replay(3, 1, {2}) + replay(4, 1, {3})}, "",
                 {"cycle", "1 needs 3 needs 2 needs 1"});
  expect_refused({send(1, 1, 7, 8), replay(1, 1)}, "",
                 {"send without receive", "rank 0, node 1 'n1'", "rank 1", "tag 7"});
  expect_refused({replay(1, 1), receive(1, 0, 7, 8)}, "", {"receive without send", "rank 1, node 1"});
  expect_refused({send(1, 1, 7, 8), receive(1, 0, 8, 8)}, "", {"without", "tag 7"});
  expect_refused({send(1, 1, 7, 8), receive(4, 0, 7, 9)}, "", {"sizes differ", "8 bytes", "node 4", "9 bytes"});
  expect_refused({collective(1, 1, 8, "")}, "", {"REDUCE"});
  expect_refused({node(1, 2, {}, int64_attribute("tensor_size", 8))}, "", {"remote memory"});
  expect_refused({node(1, 4, {}, int64_attribute("is_cpu_op", 1) + number(7, 5))}, "", {"is_cpu_op"});
}

TEST(Import, RefusesMembersThatDisagree) {
  expect_refused({collective(1, 0, 8, "1"), replay(1, 1)}, R"({"1": [0, 1]})", {"group 1", "rank 1", "never"});
  expect_refused({collective(1, 0, 8, "1"), collective(1, 2, 4, "1")}, R"({"1": [0, 1]})",
                 {"group 1", "all_reduce", "all_gather", "rank 0, node 1", "rank 1, node 1"});
  expect_refused({collective(1, 0, 8, "1") + collective(2, 0, 8, "1", {1}), collective(1, 0, 8, "1")},
                 R"({"1": [0, 1]})", {"wait for each other", "rank 0, node 2", "number 1 of group 1"});
}

TEST(Import, RefusesRanksThatWaitForEachOther) {
  // Each sends only after it has received.
  expect_refused({receive(1, 1, 0, 8) + send(2, 1, 1, 8, {1}), receive(1, 0, 1, 8) + send(2, 0, 0, 8, {1})}, "",
                 {"wait for each other", "rank 0, node 1", "rank 1, node 1"});
}

TEST(Import, TakesGivenDimensions) {
  const auto set = set_of({collective(1, 0, 8, "1"), collective(1, 0, 8, "1")}, R"({"1": [0, 1]})");
  ImportOptions given = options();
  given.dimension_of = {{1, Dimension::context}};
  EXPECT_EQ(import_step(*set, given)->graph.groups[0].dimension, Dimension::context);
  given.dimension_of = {{9, Dimension::context}};
  EXPECT_FALSE(import_step(*set, given).has_value());
}

TEST(Import, PutsTensorGroupsIntoDomains) {
  // Tensor groups {0, 2} and {1, 3} (stride two), data groups {0, 1} and {2, 3}.
  const auto rank = [](const char* tensor, const char* data) {
    std::string text = replay(1, 1);
    for (std::uint64_t i = 2; i < 40; i += 2) text += collective(i, 7, 8, tensor, {i - 1}) + replay(i + 1, 1, {i});
    return text + collective(90, 0, 64, data, {39});
  };
  const auto step = import({rank("1", "3"), rank("2", "3"), rank("1", "4"), rank("2", "4")},
                           R"({"1": [0, 2], "2": [1, 3], "3": [0, 1], "4": [2, 3]})", 2);
  ASSERT_TRUE(step.has_value()) << step.error().message;
  EXPECT_EQ(step->domain_of, (std::vector<std::uint32_t>{0, 1, 0, 1}));
  EXPECT_EQ(step->local_of, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(step->graph.groups[step->graph.slot(0, 0)].dimension, Dimension::tensor);
  EXPECT_EQ(step->graph.groups[step->graph.slot(0, 1)].dimension, Dimension::data);
}

std::map<Dimension, std::int64_t> ring_traffic(const model::TaskGraph& graph) {
  std::map<Dimension, std::int64_t> bytes;
  for (model::Rank rank = 0; rank < graph.ranks(); ++rank) {
    for (const Task& task : graph.program(rank).tasks) {
      if (task.kind == TaskKind::send) bytes[task.dimension] += task.bytes.count;
      if (task.kind != TaskKind::collective) continue;
      const model::Group& group = graph.groups[graph.slot(rank, task.slot)];
      const auto members = static_cast<std::int64_t>(group.members.size());
      if (group.members.front() == rank)
        bytes[task.dimension] += ring_bytes_of_group(task.collective, task.bytes, members).count;
    }
  }
  return bytes;
}

struct Workload {
  const char* archive;
  std::int64_t domain;
  std::uint32_t stages;
  std::int64_t data, tensor, pipeline;
};

// Ring bytes of all ranks by data/opus/README.md section 4, to the byte. Elements count as bytes there.
class ImportOpus : public ::testing::TestWithParam<Workload> {};
TEST_P(ImportOpus, HasThePublishedTraffic) {
  const Workload& workload = GetParam();
  const fs::path path = kShared / "data/opus/traces" / workload.archive;
  if (!fs::exists(path)) GTEST_SKIP() << "the shared traces are not there";
  const auto set = read_traces(path.string(), {});
  ASSERT_TRUE(set.has_value()) << set.error().message;
  const auto step = import_step(*set, options(workload.domain));
  ASSERT_TRUE(step.has_value()) << step.error().message;
  auto bytes = ring_traffic(step->graph);
  EXPECT_EQ(bytes[Dimension::data], workload.data);
  EXPECT_EQ(bytes[Dimension::tensor], workload.tensor);
  EXPECT_EQ(bytes[Dimension::pipeline], workload.pipeline);
  const auto per_stage = step->graph.ranks() / workload.stages;
  for (std::size_t r = 0; r < step->graph.ranks(); ++r) EXPECT_EQ(step->graph.stage_of[r], r / per_stage);
  const Status status = check(step->graph);
  EXPECT_TRUE(status.has_value()) << status.error().message;
}
INSTANTIATE_TEST_SUITE_P(Published, ImportOpus,
                         ::testing::Values(Workload{"smoke_dp2pp2tp2_gpt_8npu.tar.xz", 2, 2, 143'831'072'768,
                                                    8'248'434'360'320, 17'179'869'184},
                                           Workload{"fig12_dp4pp4tp8_llama_128npu.tar.xz", 8, 4, 518'013'321'216,
                                                    57'753'720'586'240, 51'539'607'552},
                                           Workload{"fig13_dp4pp4tp32_gpt_512npu.tar.xz", 32, 4, 525'865'058'304,
                                                    255'766'476'881'920, 51'539'607'552},
                                           Workload{"fig15_h200_dp16pp4tp8_gpt_512npu.tar.xz", 8, 4, 2'251'837'931'520,
                                                    57'841'800'970'240, 51'539'607'552}));

TEST(ImportShared, RefusesTheDefects) {
  const fs::path cases = kShared / "data/astra-sim/cases/defect";
  if (!fs::exists(cases)) GTEST_SKIP() << "the shared cases are not there";
  const std::map<std::string, std::string> refused = {{"dangling_dependency2", "node 77"},
                                                      {"dependency_cycle", "1 needs 2 needs 1"},
                                                      {"empty_traces", "no nodes"},
                                                      {"p2p_size_mismatch", "sizes differ"},
                                                      {"recv_without_send", "receive without send"},
                                                      {"self_send", "itself"},
                                                      {"truncated_trace", "truncated"}};
  const std::vector<std::string> accepted = {"group_of_one", "invalid_node_has_child", "metadata_node",
                                             "skipped_node_has_child"};
  const auto run = [&](const std::string& name) -> Result<ImportedStep> {
    const std::string groups = fs::exists(cases / name / "cg.json") ? "cg.json" : "";
    PR_ASSIGN(TraceSet set,
              read_traces((cases / name).string(), {.keep_names = true, .group_file = groups, .progress = {}}));
    return import_step(set, options());
  };
  for (const auto& [name, text] : refused) {
    const auto step = run(name);
    ASSERT_FALSE(step.has_value()) << name;
    EXPECT_NE(step.error().message.find(text), std::string::npos) << name << ": " << step.error().message;
  }
  for (const std::string& name : accepted) {
    const auto step = run(name);
    EXPECT_TRUE(step.has_value()) << name << ": " << (step ? "" : step.error().message);
  }
}

}  // namespace
}  // namespace photonrail::workload

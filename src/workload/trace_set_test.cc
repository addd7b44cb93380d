#include <fmt/format.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>

#include "workload/chakra_test_writer.h"
#include "workload/trace_set.h"

namespace photonrail::workload {
namespace {

using namespace test;
namespace fs = std::filesystem;

const fs::path kShared = fs::path(PHOTONRAIL_SOURCE_DIR) / ".." / "shared";

class TraceSetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::temp_directory_path() / fmt::format("photonrail_trace_set_{}", info->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(directory_ / name, std::ios::binary) << content;
  }
  Result<TraceSet> read(const ReadOptions& options = {}) const { return read_traces(directory_.string(), options); }
  void expect_refused(const std::vector<std::string>& fragments, const ReadOptions& options = {}) const {
    const auto set = read(options);
    ASSERT_FALSE(set.has_value());
    for (const std::string& fragment : fragments)
      EXPECT_NE(set.error().message.find(fragment), std::string::npos) << set.error().message << "\nlacks " << fragment;
  }
  // Two pairs: ranks 0, 1 in group 1 and ranks 2, 3 in group 2; 0 and 1 send to 2 and 3.
  void write_pairs() const {
    for (const int r : {0, 1})
      write(fmt::format("w.{}.et", r), metadata() + collective(1, 0, 64, "1") + send(2, r + 2, 7, 32, {1}));
    for (const int r : {2, 3})
      write(fmt::format("w.{}.et", r), metadata() + receive(1, r - 2, 7, 32) + collective(2, 0, 64, "2", {1}));
    write("w.json", R"({"1": [0, 1], "2": [2, 3]})");
  }

  fs::path directory_;
};

TEST_F(TraceSetTest, SharesTracesThatDifferInGroupAndPeerOnly) {
  write_pairs();
  const auto set = read();
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->program_of, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(set->slots, (std::vector<std::vector<std::int32_t>>{{1, 2}, {1, 3}, {0, 2}, {1, 2}}));
  EXPECT_EQ(set->slot_is_peer, (std::vector<std::vector<bool>>{{false, true}, {true, false}}));
  EXPECT_EQ(set->traces[0].nodes[1].comm_dst, 1);
  EXPECT_EQ(set->traces[0].nodes[1].comm_src, -1);
  EXPECT_EQ(set->traces[1].nodes[0].comm_src, 0);
}

TEST_F(TraceSetTest, KeepsTracesApartThatDifferInASize) {
  write_pairs();
  write("w.1.et", metadata() + collective(1, 0, 65, "1") + send(2, 3, 7, 32, {1}));
  const auto set = read();
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->program_of, (std::vector<std::uint32_t>{0, 1, 2, 2}));
}

TEST_F(TraceSetTest, ReadsBesideOtherFilesAndByPrefix) {
  write_pairs();
  write("net.yml", "x");
  write("sys.json", "not JSON");
  EXPECT_TRUE(read().has_value());
  write("other.0.et", metadata());
  expect_refused({"two sets of traces", "other", "w"});
  const auto set = read_traces((directory_ / "w").string(), {});
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->ranks(), 4u);
}

TEST_F(TraceSetTest, RefusesMissingThings) {
  expect_refused({"no rank found", "hint"});
  const auto none = read_traces((directory_ / "nowhere").string(), {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::io);
  write_pairs();
  fs::remove(directory_ / "w.1.et");
  expect_refused({"1 of 4 ranks are missing: 1"});
  write_pairs();
  fs::remove(directory_ / "w.json");
  expect_refused({"rank 0", "group 1", "no group file", "w.json"});
  expect_refused({"group file 'cg.json' not found"}, {.keep_names = false, .group_file = "cg.json", .progress = {}});
}

TEST_F(TraceSetTest, RefusesWrongGroups) {
  write_pairs();
  write("w.json", R"({"1": [0, 1], "2": [2, 3, 4]})");
  expect_refused({"w.json: group 2 names rank 4", "0 to 3"});
  write("w.json", R"({"1": [0, 1]})");
  expect_refused({"rank 2", "group 2", "lacks"});
  write("w.json", R"({"1": [0, 2], "2": [2, 3]})");
  expect_refused({"rank 1", "group 1", "no member"});
  write("w.json", R"({"1": [0, 0], "2": [2, 3]})");
  expect_refused({"group 1 names rank 0 twice"});
  write("w.json", R"({"0": [0, 1]})");
  expect_refused({"'0' is not a group id"});
  write("w.json", "{\"1\": [0, 1],\n \"2\" [2]}");
  expect_refused({"w.json:2:6", "not JSON"});
}

TEST_F(TraceSetTest, RefusesWrongPeers) {
  write_pairs();
  write("w.0.et", metadata() + send(2, 0, 7, 32));
  expect_refused({"rank 0", "itself"});
  write("w.0.et", metadata() + send(2, 4, 7, 32));
  expect_refused({"rank 4", "0 to 3"});
  write("w.0.et", metadata() + node(2, 5, {},
                                    int64_attribute("comm_src", 1) + int64_attribute("comm_dst", 2) +
                                        int64_attribute("comm_tag", 1) + int64_attribute("comm_size", 1)));
  expect_refused({"node 2", "comm_src = 1 in the trace of rank 0"});
}

TEST_F(TraceSetTest, RefusesADamagedArchive) {
  write("a.tar.xz",
        "\xFD"
        "7zXZ\0 and nothing more");
  const auto set = read_traces((directory_ / "a.tar.xz").string(), {});
  ASSERT_FALSE(set.has_value());
  EXPECT_NE(set.error().message.find("a.tar.xz: cannot be read"), std::string::npos) << set.error().message;
}

TEST(TraceSetShared, ReadsAnArchiveAsItIs) {
  const fs::path path = kShared / "data/opus/traces/fig12_dp4pp4tp8_llama_128npu.tar.xz";
  if (!fs::exists(path)) GTEST_SKIP() << "the shared traces are not there";
  const auto set = read_traces(path.string(), {});
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->ranks(), 128u);
  ASSERT_EQ(set->traces.size(), 4u);  // ranks of one stage differ in group and peer only
  // Nodes and edges of data/opus/README.md section 4, fig12.
  const std::size_t nodes[] = {1233, 1228, 1228, 1235};
  const std::size_t edges[] = {1735, 1730, 1730, 1739};
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const ChakraTrace& trace = set->traces[set->program_of[stage * 32]];
    EXPECT_EQ(trace.nodes.size(), nodes[stage]);
    EXPECT_EQ(trace.dependencies.size(), edges[stage]);
  }
}

TEST(TraceSetShared, ReadsGzippedMembers) {
  const fs::path path = kShared / "data/traces/stg_synthetic";
  if (!fs::exists(path)) GTEST_SKIP() << "the shared traces are not there";
  const auto set = read_traces(path.string(), {});
  ASSERT_TRUE(set.has_value()) << set.error().message;
  EXPECT_EQ(set->ranks(), 8u);
}

TEST(TraceSetShared, RefusesATruncatedTrace) {
  const fs::path path = kShared / "data/astra-sim/cases/defect/truncated_trace";
  if (!fs::exists(path)) GTEST_SKIP() << "the shared traces are not there";
  const auto set = read_traces(path.string(), {});
  ASSERT_FALSE(set.has_value());
  EXPECT_NE(set.error().message.find("truncated"), std::string::npos) << set.error().message;
}

}  // namespace
}  // namespace photonrail::workload

// Phases and topology ids of the published workloads, from the logs of the published simulator: data/opus/README.md,
// section 4. A log line "CI rank index kind time" is the end of one communication: kind -2 tensor, -1 data, else the
// peer of a send or receive. Ranks: stage x (tp x dp) + tensor index x dp + data index; the rail is the tensor index.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <tuple>

#include "analysis/analysis_test_records.h"
#include "analysis/topology_id.h"
#include "analysis/window_report.h"
#include "analysis/windows.h"

namespace photonrail::analysis {
namespace {

namespace fs = std::filesystem;

struct Workload {
  const char* log;
  std::uint32_t data, tensor;
  std::vector<std::string> phases;      // per stage
  std::vector<std::uint64_t> topology;  // bit form
};

struct ClosePipe {
  void operator()(std::FILE* f) const { pclose(f); }
};

// What the ranks of rail 0 with data index 0 did.
model::RunResult read_log(const fs::path& path, const Workload& workload) {
  model::RunResult run;
  const std::unique_ptr<std::FILE, ClosePipe> in(popen(("xz -dc '" + path.string() + "'").c_str(), "r"));
  if (!in) return run;
  const std::uint32_t per_stage = workload.data * workload.tensor;
  std::set<std::tuple<std::uint32_t, std::uint32_t, long long>> seen;  // both ends report a message
  char line[256];
  while (std::fgets(line, sizeof line, in.get()) != nullptr) {
    unsigned rank = 0;
    unsigned index = 0;
    int kind = 0;
    long long at = 0;
    if (std::sscanf(line, "CI %u %u %d %lld", &rank, &index, &kind, &at) != 4) continue;
    if (kind == -2 || rank % per_stage != 0) continue;
    if (kind == -1) {
      run.communications.push_back(test::collective(0, rank / per_stage, at * 1000, at * 1000, at * 1000));
      run.communications.back().ordinal = index;
      continue;
    }
    const auto peer = static_cast<std::uint32_t>(kind);
    if (!seen.insert({std::min(rank, peer), std::max(rank, peer), at}).second) continue;
    run.communications.push_back(test::message(0, rank / per_stage, peer / per_stage, at * 1000, at * 1000, at * 1000));
  }
  return run;
}

class OpusPhases : public ::testing::TestWithParam<Workload> {};

TEST_P(OpusPhases, AreThePublishedOnes) {
  const Workload& workload = GetParam();
  const fs::path path = fs::path(PHOTONRAIL_SOURCE_DIR) / "../shared/data/opus/golden" / workload.log;
  if (!fs::exists(path)) GTEST_SKIP() << "the shared logs are not there";
  const model::RunResult run = read_log(path, workload);
  if (run.communications.empty()) GTEST_SKIP() << "xz is not installed";
  const WindowAnalysis analysis = analyse_windows(run);
  for (std::uint32_t stage = 0; stage < workload.phases.size(); ++stage) {
    EXPECT_EQ(phase_sequence(analysis.phases, 0, stage), workload.phases[stage]) << "stage " << stage;
  }
  std::vector<std::uint64_t> ids;
  for (const TopologyChange& change : topology_sequence(run, 0, workload.phases.size())) {
    ids.push_back(*pipeline_mask(change.digits));
  }
  EXPECT_EQ(ids, workload.topology);
}

const std::vector<std::string> kTwoStages = {"P2 D49", "P1 D49 P1"};
const std::vector<std::string> kFourStages = {"P2 D25", "P3 D24 P1", "P3 D24 P1", "P1 D25 P1"};
const std::vector<std::uint64_t> kTwoStageIds = {0, 3, 2, 3, 1};
const std::vector<std::uint64_t> kFourStageIds = {0, 12, 14, 15, 14, 15, 13, 15, 11, 15, 7};

void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.log; }

INSTANTIATE_TEST_SUITE_P(Logs, OpusPhases,
                         ::testing::Values(Workload{"smoke.ondemand_1ms.log.xz", 2, 2, kTwoStages, kTwoStageIds},
                                           Workload{"smoke.ondemand_50ms.log.xz", 2, 2, kTwoStages, kTwoStageIds},
                                           Workload{"fig12.ondemand_0ms.log.xz", 4, 8, kFourStages, kFourStageIds},
                                           Workload{"fig12.ondemand_100ms.log.xz", 4, 8, kFourStages, kFourStageIds}));

}  // namespace
}  // namespace photonrail::analysis

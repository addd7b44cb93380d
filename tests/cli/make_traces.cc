// Writes small sets of Chakra traces for the tests of this folder: one that is right, and one for each way to be wrong.
// usage: cli_make_traces DIRECTORY
//
// The right one (`good`, also examples/traces/two-stages): 8 ranks, DP2 PP2 TP2, rank = stage * 4 + d * 2 + t, one
// micro-batch, two layers per stage. As in real jobs the data-parallel all-reduce of a stage's last layer is issued
// before the gradient is sent on: data and pipeline traffic overlap.
#include <fmt/format.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "workload/chakra_test_writer.h"

namespace {

namespace fs = std::filesystem;
namespace et = photonrail::workload::test;

constexpr int kRanks = 8;
constexpr std::int64_t kOps = 40'000'000'000'000;  // multiply-accumulates of one layer
constexpr std::int64_t kActivations = 64'000'000;  // bytes
constexpr std::int64_t kGradients = 800'000'000;   // bytes of one layer's weights on one rank
constexpr std::int64_t kAllReduce = 0;

int stage_of(int rank) { return rank / 4; }
std::string tensor_group(int rank) { return std::to_string(1 + rank / 2); }
std::string data_group(int rank) { return std::to_string(5 + stage_of(rank) * 2 + rank % 2); }

const char* kGroups = R"({"1": [0, 1], "2": [2, 3], "3": [4, 5], "4": [6, 7],
 "5": [0, 2], "6": [1, 3], "7": [4, 6], "8": [5, 7]}
)";

// Two layers: computations a and a + 2 with their tensor-parallel all-reduces a + 1 and a + 3.
std::string layers(int rank, std::uint64_t a, std::int64_t ops, std::vector<std::uint64_t> needs) {
  return et::compute(a, ops, kActivations, needs) +
         et::collective(a + 1, kAllReduce, kActivations, tensor_group(rank), {a}) +
         et::compute(a + 2, ops, kActivations, {a + 1}) +
         et::collective(a + 3, kAllReduce, kActivations, tensor_group(rank), {a + 2});
}

std::string first_stage(int rank, std::int64_t gradients) {
  return layers(rank, 1, kOps, {}) + et::send(5, rank + 4, 1, kActivations, {4}) +
         et::receive(6, rank + 4, 2, kActivations, {5}) + layers(rank, 7, 2 * kOps, {6}) +
         et::collective(11, kAllReduce, gradients, data_group(rank), {7}) +
         et::collective(12, kAllReduce, kGradients, data_group(rank), {9, 11});
}

std::string last_stage(int rank) {
  return et::receive(1, rank - 4, 1, kActivations) + layers(rank, 2, kOps, {1}) + layers(rank, 6, 2 * kOps, {5}) +
         et::collective(10, kAllReduce, kGradients, data_group(rank), {6}) +
         et::send(11, rank - 4, 2, kActivations, {9}) +
         et::collective(12, kAllReduce, kGradients, data_group(rank), {8, 10});
}

std::string program(int rank) {
  return et::metadata() + (stage_of(rank) == 0 ? first_stage(rank, kGradients) : last_stage(rank));
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file) {
    fmt::print(stderr, "cannot write {}\n", path.string());
    std::exit(1);
  }
}

// All ranks, with rank 0's bytes replaced by `zero` of them.
void write_set(const fs::path& directory, const std::function<std::string(std::string)>& zero,
               const std::string& groups = kGroups) {
  fs::create_directories(directory);
  write(directory / "step.json", groups);
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string bytes = program(rank);
    write(directory / fmt::format("step.{}.et", rank), rank == 0 ? zero(bytes) : bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const fs::path root = argv[1];
  write_set(root / "good", [](std::string b) { return b; });
  write_set(root / "truncated", [](std::string b) { return b.substr(0, b.size() - 7); });
  write_set(root / "cycle",
            [](std::string b) { return b + et::compute(20, 1, 1, {21}) + et::compute(21, 1, 1, {20}); });
  write_set(root / "dangling", [](std::string b) { return b + et::compute(20, 1, 1, {77}); });
  write_set(root / "lone_send", [](std::string b) { return b + et::send(20, 4, 9, 100); });
  write_set(root / "sizes", [](std::string) { return et::metadata() + first_stage(0, kGradients / 2); });
  write_set(root / "lone_collective",
            [](std::string b) { return b + et::collective(20, kAllReduce, kGradients, data_group(0), {12}); });
  write_set(
      root / "foreign", [](std::string b) { return b; },
      "{\"1\": [0, 1], \"2\": [2, 3], \"3\": [4, 5], \"4\": [6, 7], \"5\": [0, 2, 99], \"6\": [1, 3], \"7\": [4, 6], "
      "\"8\": [5, 7]}\n");
  write_set(root / "missing_rank", [](std::string b) { return b; });
  fs::remove(root / "missing_rank" / "step.3.et");
  fs::create_directories(root / "empty");
  return 0;
}

// Runs a fuzz target without a fuzzer: on the empty input, on every file of the folders that are given, and on seeded
// mutations of each file (bytes flipped, overwritten, inserted, removed; the end cut off). The failure is a crash or a
// sanitizer's report. Usage: fuzz_<name> FOLDER...
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::uint64_t kSeed = 1;
constexpr int kMutationsPerFile = 200;
constexpr std::uint64_t kEditsMax = 4;

std::vector<std::filesystem::path> sorted_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Input read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void edit(Input& input, photonrail::RandomStream& random) {
  if (input.empty()) return;
  const auto at = static_cast<std::ptrdiff_t>(random.below(input.size()));
  const auto byte = static_cast<std::uint8_t>(random.below(256));
  switch (random.below(5)) {
    case 0: input[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1U << random.below(8)); break;
    case 1: input[static_cast<std::size_t>(at)] = byte; break;
    case 2: input.insert(input.begin() + at, byte); break;
    case 3: input.erase(input.begin() + at); break;
    default: input.resize(static_cast<std::size_t>(at)); break;
  }
}

void run(const Input& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

}  // namespace

int main(int argc, char** argv) {
  std::size_t files = 0;
  run({});
  for (int i = 1; i < argc; ++i) {
    for (const auto& path : sorted_files(argv[i])) {
      std::printf("%s\n", path.c_str());
      std::fflush(stdout);  // a crash leaves the name of its file as the last line
      const Input original = read_file(path);
      run(original);
      photonrail::RandomStream random(kSeed, "replay", files++);
      for (int mutation = 0; mutation < kMutationsPerFile; ++mutation) {
        Input input = original;
        for (std::uint64_t edits = 1 + random.below(kEditsMax); edits > 0; --edits) edit(input, random);
        run(input);
      }
    }
  }
  std::printf("%zu files, %d mutations of each\n", files, kMutationsPerFile);
  return 0;
}

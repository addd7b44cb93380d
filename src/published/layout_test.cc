// Red when a topology's links differ from the published matrices.
#include "published/layout.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "published/text_file.h"

namespace photonrail::published {
namespace {

using Matrix = std::vector<std::vector<double>>;

// "BW <id>", rows, "END"
std::map<std::uint32_t, Matrix> parse_matrices(const std::string& text) {
  std::map<std::uint32_t, Matrix> matrices;
  std::istringstream lines(text);
  std::string line;
  Matrix* current = nullptr;
  while (std::getline(lines, line)) {
    if (line.starts_with("BW ")) {
      current = &matrices[static_cast<std::uint32_t>(std::stoul(line.substr(3)))];
    } else if (current != nullptr && !line.empty() && line != "END") {
      std::istringstream fields(line);
      std::vector<double> row;
      for (double value = 0; fields >> value;) row.push_back(value);
      current->push_back(row);
    }
  }
  return matrices;
}

double rate_of(LinkClass kind, double out, double up) {
  return kind == LinkClass::none ? 0 : kind == LinkClass::tensor ? up : out;
}

void expect_equal(const Layout& layout, std::uint32_t topology, const Matrix& matrix, double out, double up) {
  ASSERT_EQ(matrix.size(), layout.ranks());
  for (std::uint32_t from = 0; from < layout.ranks(); ++from) {
    for (std::uint32_t to = 0; to < layout.ranks(); ++to) {
      if (from == to) continue;
      const double rate = layout.is_up(topology, from, to) ? rate_of(layout.link_class(from, to), out, up) : 0;
      ASSERT_EQ(rate, matrix[from][to]) << "topology " << topology << ", " << from << " -> " << to;
    }
  }
}

struct Case {
  const char* workload;
  Layout layout;
  double out, up;
};
constexpr Case kCases[] = {{"smoke", {2, 2, 2}, 50, 450}, {"fig12", {4, 4, 8}, 50, 450}};

std::string config(const Case& c, const char* file) {
  return std::string(PHOTONRAIL_SOURCE_DIR "/../shared/data/opus/configs/") + c.workload + "/" + file;
}

TEST(Layout, GivesThePublishedTopologies) {
  for (const Case& c : kCases) {
    const std::string path = config(c, "schedules.txt.xz");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
    const auto text = read_text(path);
    ASSERT_TRUE(text) << text.error().message;
    const auto matrices = parse_matrices(*text);
    ASSERT_EQ(matrices.size(), c.layout.topologies());
    for (const auto& [topology, matrix] : matrices) expect_equal(c.layout, topology, matrix, c.out, c.up);
  }
}

TEST(Layout, GivesThePublishedStaticMatrix) {
  for (const Case& c : kCases) {
    const std::string path = config(c, "eps_matrix.txt.xz");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
    const auto text = read_text(path);
    ASSERT_TRUE(text) << text.error().message;
    expect_equal(c.layout, Layout::kEverything, parse_matrices(*text).at(0), c.out, c.up);
  }
}

// dp 2, pp 3, tp 1: ranks 0 1 | 2 3 | 4 5. Topology 0b100 sets only stage 0: joined to nobody, so its ring stays.
TEST(Layout, AStageAloneInPipelineModeKeepsItsDataRing) {
  const Layout layout{2, 3, 1};
  EXPECT_TRUE(layout.is_up(0b100, 0, 1));
  EXPECT_FALSE(layout.is_up(0b100, 0, 2));
  EXPECT_FALSE(layout.is_up(0b110, 0, 1));
  EXPECT_TRUE(layout.is_up(0b110, 0, 2));
  EXPECT_TRUE(layout.is_up(0b110, 4, 5));
  EXPECT_TRUE(layout.is_up(0b101, 4, 0)) << "the last and the first stage are neighbours";
  EXPECT_FALSE(layout.is_up(0b111, 0, 3)) << "pipeline links keep the dp index";
}

}  // namespace
}  // namespace photonrail::published

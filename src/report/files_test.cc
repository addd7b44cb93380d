#include "report/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace photonrail::report {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("photonrail_files_" + std::to_string(::getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string at(const std::string& name) const { return (root_ / name).string(); }

  fs::path root_;
};

TEST_F(Files, WritesAndReadsBackWithoutLeftovers) {
  ASSERT_TRUE(prepare_directory(at("a/b")));
  ASSERT_TRUE(write_files(at("a/b"), {{"x.txt", "one\n"}, {"y.txt", ""}}));
  ASSERT_TRUE(write_files(at("a/b"), {{"x.txt", "two\n"}}));
  EXPECT_EQ(*read_file(at("a/b/x.txt")), "two\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(at("a/b")), {}), 2);
}

TEST_F(Files, RefusesAPlaceThatIsAFile) {
  std::ofstream(at("taken")) << "x";
  const Status refused = prepare_directory(at("taken"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io);
  EXPECT_NE(refused.error().message.find("taken"), std::string::npos);
  EXPECT_FALSE(prepare_directory(at("taken/below")));
}

TEST_F(Files, RefusesADirectoryThatCannotBeWritten) {
  const Status refused = prepare_directory("/proc/self");  // writable for nobody, root included
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io);
  EXPECT_FALSE(write_files("/proc/self", {{"x", "y"}}));
}

TEST_F(Files, RefusesToReadWhatIsAbsentADirectoryOrTooLarge) {
  EXPECT_FALSE(read_file(at("absent")));
  EXPECT_FALSE(read_file(root_.string()));
  std::ofstream(at("large")) << std::string(1000, 'x');
  EXPECT_FALSE(read_file(at("large"), 999));
  EXPECT_TRUE(read_file(at("large"), 1000));
}

}  // namespace
}  // namespace photonrail::report

#include "validation/score.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "validation/serving_setup.h"

namespace photonrail::validation {
namespace {

namespace fs = std::filesystem;
using operators::Dtype;

Point point(double error, std::string apart = "") {
  Point p;
  p.row.id = "t/1";
  p.row.quantity = "tpot";
  p.row.published = 1;
  p.row.ours = 1 + error;
  p.row.relative_error = error;
  p.apart = std::move(apart);
  return p;
}

// |-0.1|, |0.3|, |0.2|: mean 0.2, median 0.2, bias (-0.1 + 0.3 + 0.2) / 3, worst 0.3; the refused row counts as such.
TEST(Summary, MeanMedianBiasAndWorst) {
  std::vector<Point> points = {point(-0.1), point(0.3), point(0.2)};
  points[1].row.id = "t/2";
  Point refused = point(0);
  refused.row.ours.reset();
  refused.row.relative_error.reset();
  refused.row.refused = Error{ErrorCode::infeasible, "does not fit"};
  points.push_back(refused);
  std::vector<const Point*> all;
  for (const Point& p : points) all.push_back(&p);
  const Summary s = summarise("g", all);
  EXPECT_EQ(s.points, 3U);
  EXPECT_EQ(s.refused, 1U);
  EXPECT_NEAR(s.mape, 0.2, 1e-12);
  EXPECT_NEAR(s.median, 0.2, 1e-12);
  EXPECT_NEAR(s.bias, 0.4 / 3, 1e-12);
  EXPECT_NEAR(s.worst, 0.3, 1e-12);
  EXPECT_EQ(s.worst_id, "t/2");
}

// A row scored apart must not touch the figures of the others.
TEST(Summary, RowsApartMakeGroupsOfTheirOwn) {
  std::vector<Point> points = {point(0.1), point(5, "precision not given")};
  points[0].model = points[1].model = "m";
  bool model = false;
  bool apart = false;
  for (const Summary& s : summaries(points)) {
    if (s.group == "model m tpot") {
      model = true;
      EXPECT_EQ(s.points, 1U);
      EXPECT_NEAR(s.mape, 0.1, 1e-12);
    }
    if (s.group == "apart t tpot: precision not given") {
      apart = true;
      EXPECT_NEAR(s.mape, 5, 1e-12);
    }
  }
  EXPECT_TRUE(model);
  EXPECT_TRUE(apart);
}

TEST(Gates, HaveNamesOfTheirOwnAndLimits) {
  std::set<std::string_view> names;
  for (const Gate& gate : gates()) {
    EXPECT_TRUE(names.insert(gate.name).second) << gate.name;
    EXPECT_GE(gate.largest_mape, 0);
    EXPECT_LE(gate.largest_mape, 0.15);
  }
}

class Setup : public ::testing::Test {
 protected:
  catalog::Catalog catalog = *catalog::Catalog::builtin();
};

TEST_F(Setup, NamesOfTablesAreThoseOfTheCatalog) {
  for (const auto& [text, name] :
       {std::pair{"meta-llama/Llama-3.1-70B", "llama-3.1-70b"},
        std::pair{"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"}, std::pair{"LLaMA 7B", "llama-2-7b"},
        std::pair{"LLAMA 3 (70B)", "llama-3-70b"}, std::pair{"Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b"},
        std::pair{"nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3.1"}}) {
    const auto model = model_of(text, catalog);
    ASSERT_TRUE(model) << text;
    EXPECT_EQ(model->name, name);
  }
  EXPECT_FALSE(model_of("somebody/Unknown-1B", catalog));
  EXPECT_EQ(gpu_of("gb200", catalog)->name, "GB200");
  EXPECT_EQ(gpu_of("NVIDIA H100-SXM5-80GB", catalog)->name, "H100");
  EXPECT_FALSE(gpu_of("TPU v5p", catalog));
}

TEST_F(Setup, FormatsFollowTheMakerOfTheModel) {
  const auto llama = *catalog.model("llama-3.1-70b");
  const auto qwen = *catalog.model("qwen3-32b");
  const auto deepseek = *catalog.model("deepseek-v3");
  EXPECT_EQ(precision_of("fp8", llama, "trtllm")->weights, Dtype::fp8);
  EXPECT_EQ(precision_of("fp8", qwen, "trtllm")->weights, Dtype::fp8_block);
  EXPECT_EQ(precision_of("fp4", llama, "vllm")->weights, Dtype::nvfp4);
  EXPECT_EQ(precision_of("fp4", deepseek, "sglang")->experts, Dtype::nvfp4);
  EXPECT_EQ(precision_of("fp4", deepseek, "sglang")->weights, Dtype::fp8);
  EXPECT_EQ(precision_of("fp8", qwen, "vllm")->kv, Dtype::bf16);
  EXPECT_EQ(precision_of("", qwen, "trtllm")->kv, Dtype::bf16);
  EXPECT_FALSE(precision_of("fp7", qwen, "trtllm"));
}

class Folder : public Setup {
 protected:
  Folder() : path_(fs::path(::testing::TempDir()) / ("validation-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() override { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(path_ / name) << text; }
  Result<Validation> run() { return validate(path_.string(), {catalog}, {}, {}); }

  fs::path path_;
};

constexpr const char* kStaticHeader =
    "trtllm_version,gpu_and_precision,model,batch_size,tp,input_len,output_len,throughput_value,"
    "throughput_unit_as_published,source\n";

TEST_F(Folder, ATableOfTheSameColumnsIsScoredByRow) {
  write("trtllm_static_batch_throughput.csv",
        std::string(kStaticHeader) +
            "0.9.0,H100 GPUs (FP8),LLaMA 7B,64,1,128,128,9000,throughput (out tok/s/gpu),here\n"
            "0.9.0,H100 GPUs (FP8),Nobody 9B,64,1,128,128,9000,throughput (out tok/s/gpu),here\n");
  write("notes.csv", "a\n1\n");
  const auto result = run();
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->points.size(), 2U);
  EXPECT_EQ(result->points[0].row.id, "trtllm_static_batch_throughput/1");
  EXPECT_EQ(result->points[0].gate, "static-throughput");
  EXPECT_GT(*result->points[0].row.ours, 4000);
  EXPECT_LT(*result->points[0].row.ours, 20000);
  EXPECT_TRUE(result->points[1].row.refused);
  EXPECT_EQ(result->passed_over, std::vector<std::string>{"notes.csv"});
}

TEST_F(Folder, ATableThatIsNotOfItsFormIsRefused) {
  EXPECT_NE(run().error().message.find("no .csv table"), std::string::npos);
  write("notes.csv", "a\n1\n");
  EXPECT_NE(run().error().message.find("none of its 1 tables is known"), std::string::npos);
  write("trtllm_static_batch_throughput.csv", "model,tp\nLLaMA 7B,1\n");
  EXPECT_NE(run().error().message.find("no column 'trtllm_version'"), std::string::npos);
  write("trtllm_static_batch_throughput.csv",
        std::string(kStaticHeader) + "0.9.0,H100 GPUs (FP8),LLaMA 7B,many,1,128,128,9000,x,here\n");
  EXPECT_NE(run().error().message.find(":2: batch_size: 'many' is no number"), std::string::npos);
}

// The gates of the open tables that are met today stay met.
TEST_F(Setup, OpenTablesStayWithinTheGatesThatAreMet) {
  const std::string data = PHOTONRAIL_SOURCE_DIR "/../shared/data/validation";
  if (!fs::exists(data)) GTEST_SKIP() << "no measured tables beside the clone";
  const auto result = validate(data, {catalog}, {}, {});
  ASSERT_TRUE(result) << result.error().message;
  const std::set<std::string> missed = {"gate ttft-unqueued", "gate memory-measured"};
  std::size_t held = 0;
  for (const Summary& s : summaries(result->points)) {
    for (const Gate& gate : gates()) {
      if (s.group != "gate " + std::string(gate.name) || s.points == 0 || missed.count(s.group) > 0) continue;
      EXPECT_LE(s.mape, gate.largest_mape + 1e-12) << s.group;
      ++held;
    }
  }
  EXPECT_GE(held, 6U);
}

}  // namespace
}  // namespace photonrail::validation

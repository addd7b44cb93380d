#include <gtest/gtest.h>

#include "validation/scorers.h"

namespace photonrail::validation {
namespace {

std::vector<Point> score(const std::string& configuration, const std::string& metric = "Memory(GiB)") {
  static const catalog::Catalog catalog = *catalog::Catalog::builtin();
  const auto csv = Csv::parse("configuration,row,metric,value\n\"" + configuration + "\",x," + metric + ",50\n",
                              "torchtitan_llama3_h100.csv");
  return *score_torchtitan(*csv, {catalog});
}

// 70.55e9 parameters in 2 + 4 + 12 bytes over 256 GPUs are 4.6 GiB; more than that, and less than the GPU has.
TEST(Torchtitan, MemoryIsReadFromTheProse) {
  const auto points = score(
      "Llama 3.1 70B model. 256 GPUs (FSDP 32, TP 8). Local batch size 16, global batch size 512. Full activation "
      "checkpointing. Float8");
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].row.id, "torchtitan_llama3_h100/1");
  EXPECT_EQ(points[0].gate, "memory-measured");
  ASSERT_TRUE(points[0].row.ours) << points[0].row.refused->message;
  EXPECT_GT(*points[0].row.ours, 30);
  EXPECT_LT(*points[0].row.ours, 80);
  const auto fewer =
      score("Llama 3.1 70B. 256 GPUs (FSDP 32, TP 8). Local batch size 8. Full activation checkpointing.");
  EXPECT_LT(*fewer[0].row.ours, *points[0].row.ours);
}

TEST(Torchtitan, WhatIsNotUnderstoodIsRefused) {
  for (const char* text : {"Llama 3.1 70B. Local batch size 2.", "Llama 3.1 9B. 8 GPUs. Local batch size 2.",
                           "Llama 3.1 8B. 8 GPUs (FSDP 4, TP 4). Local batch size 2."}) {
    EXPECT_TRUE(score(text)[0].row.refused) << text;
  }
  EXPECT_TRUE(score("anything", "Loss").empty());
}

// Sequences of 32,768 tokens over two GPUs each hold as many tokens as half as long ones on one.
TEST(Torchtitan, ContextParallelRanksShareASequence) {
  const auto one = score("Llama 3.1 8B. 8 GPUs. Local batch size 1. Sequence Length=16384, FSDP 8, CP 1");
  const auto two = score("Llama 3.1 8B. 8 GPUs. Local batch size 1. Sequence Length=32768, FSDP 4, CP 2");
  ASSERT_TRUE(one[0].row.ours && two[0].row.ours);
  EXPECT_NEAR(*one[0].row.ours, *two[0].row.ours, 1e-6);
}

TEST(Torchtitan, SelectiveCheckpointingKeepsMoreThanFull) {
  const auto full = score("Llama 3.1 8B. 8 GPUs. Local batch size 2. Full activation checkpointing.");
  const auto some = score("Llama 3.1 8B. 8 GPUs. Local batch size 2. Selective activation checkpointing.");
  ASSERT_TRUE(full[0].row.ours && some[0].row.ours);
  EXPECT_GT(*some[0].row.ours, *full[0].row.ours + 10);
  EXPECT_TRUE(
      score("Llama 3.1 8B. 8 GPUs. Local batch size 2. Selective activation checkpointing.", "TPS/GPU")[0].row.refused);
}

TEST(Torchtitan, ThroughputIsScoredApart) {
  const auto points = score("Llama 3.1 8B. 8 GPUs. Local batch size 2.", "TPS/GPU");
  EXPECT_FALSE(points[0].apart.empty());
  EXPECT_TRUE(points[0].gate.empty());
}

}  // namespace
}  // namespace photonrail::validation

// How rows of training tables become points: which gate admits them, what is refused and why; no error is looked at.
#include "validation/training_rows.h"

#include <gtest/gtest.h>

#include "validation/scorers.h"

namespace photonrail::validation {
namespace {

const catalog::Catalog& builtin() {
  static const catalog::Catalog catalog = *catalog::Catalog::builtin();
  return catalog;
}

std::vector<Point> points_of(Scorer scorer, std::string_view name, const std::string& text) {
  const auto table = Csv::parse(text, name);
  EXPECT_TRUE(table) << table.error().message;
  const auto points = scorer(*table, {builtin()});
  EXPECT_TRUE(points) << points.error().message;
  return points ? *points : std::vector<Point>{};
}

TEST(TrainingRows, OnlyVTrainsMultiNodeRowsAreGated) {
  const auto points = points_of(
      score_vtrain, "vtrain_a100_iteration_times.csv",
      "set,params_billion,gpus,global_batch,micro_batch,hidden,heads,layers,seq_len,tp,dp,pp,iteration_time_ms\n"
      "multi-node,18.4,256,1024,8,6144,48,40,2048,8,32,1,9603.6\n"
      "single-node,,4,16,1,2048,16,24,1024,1,4,1,392.5\n"
      "multi-node,18.4,256,1024,8,6144,48,40,2048,8,32,2,9603.6\n");
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].gate, "vtrain-multi-node");
  EXPECT_EQ(points[0].row.id, "vtrain_a100_iteration_times/1");
  EXPECT_EQ(points[0].row.quantity, "iteration_time");
  EXPECT_TRUE(points[0].row.ours);
  EXPECT_NEAR(*points[0].row.published, 9.6036, 1e-12);
  EXPECT_EQ(points[1].gate, "");
  ASSERT_TRUE(points[2].row.refused);
  EXPECT_NE(points[2].row.refused->message.find("tp x pp x dp"), std::string::npos);
}

// 22B, 48 layers on one stage: 18 x 12 h^2 x 48 / 8, and s b h (34 + 5 a s/h) / 8.
TEST(TrainingRows, MemoryOfThePaperFollowsItsFormula) {
  const auto points = points_of(score_korthikanti_memory, "korthikanti2022_memory_a100.csv",
                                "model,mode,params_and_optimizer_GiB_per_gpu,activations_GiB_per_gpu\n"
                                "megatron-22B,seq-par,1,1\n"
                                "megatron-2B,seq-par,1,1\n");
  ASSERT_EQ(points.size(), 4U);
  constexpr double kGiB = 1 << 30;
  EXPECT_NEAR(*points[0].row.ours, 18 * 12.0 * 6144 * 6144 * 48 / 8 / kGiB, 1e-9);
  EXPECT_NEAR(*points[1].row.ours, 48 * 2048.0 * 4 * 6144 * (34 + 5 * 64 * 2048.0 / 6144) / 8 / kGiB, 1e-9);
  EXPECT_TRUE(points[2].row.refused);
}

TEST(TrainingRows, OneRowOfMlperfIsOneRun) {
  const std::string run = "v4.1,NVIDIA,eos,NVIDIA H100-SXM5-80GB,512,gpt3,cfg,2048,64,2048,4,8,6,,2,3,9.4963\n";
  const auto points = points_of(
      score_mlperf_training, "mlperf_training_summary.csv",
      "round,submitter,system,accelerator,num_accel,benchmark,config_name,global_batch,grad_accum,seq_len,tp,pp,vp,cp,"
      "mbs,n_success_runs,median_step_time_s\n" +
          run + run +
          "v4.0,smc,x,NVIDIA H100-SXM5-80GB,512,gpt3,cfg,2048,64,2048,4,8,,,,3,10.6365\n"
          "v4.1,Google,tpu,TPU-trillium,512,gpt3,cfg,2048,64,2048,4,8,,,2,3,10.6365\n"
          "v4.1,Dell,x,NVIDIA H100-SXM5-80GB,8,dlrm_dcnv2,,55296,1,,,,,,,10,3.8\n");
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].gate, "mlperf-steps");
  EXPECT_TRUE(points[0].row.ours);
  EXPECT_EQ(points[1].gate, "");
  EXPECT_NE(points[1].apart.find("listed again"), std::string::npos);
  EXPECT_NE(points[2].apart.find("not given"), std::string::npos);
  EXPECT_EQ(points[3].gate, "");
  EXPECT_TRUE(points[3].row.refused);
}

TEST(TrainingRows, OfMegatronBridgeOnlyLlamaOnMeasuredGpusIsGated) {
  const auto points =
      points_of(score_megatron_bridge, "nvidia_megatron_bridge_training.csv",
                "container,task,model,system,gpus,precision,gbs,mbs,seq_len,fsdp,tp,pp,cp,vp,ep,tokens_per_s_per_gpu\n"
                "26.06,pretrain,LLAMA3.1_405B,DGX-GB200,256,FP8,1536,1,8192,,4,16,1,4,n/a,843\n"
                "26.06,pretrain,LLAMA3.1_405B,DGX-GB300,256,FP8,1536,1,8192,,4,8,1,4,n/a,1048\n"
                "26.06,LoRA,LLAMA3_70B,DGX-GB200,8,FP8,32,1,4096,,1,2,1,20,n/a,6206\n"
                "26.06,pretrain,DeepSeekV3,DGX-GB200,256,MXFP8,4096,1,4096,,1,4,1,4,64,4912\n");
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].gate, "bridge-llama");
  EXPECT_TRUE(points[0].row.ours);
  EXPECT_EQ(points[1].gate, "");
  EXPECT_TRUE(points[1].row.ours);
  EXPECT_TRUE(points[2].row.refused);
  EXPECT_EQ(points[2].gate, "");
  EXPECT_TRUE(points[3].row.refused);
}

TEST(TrainingRows, ATableWithoutItsColumnsIsRefused) {
  const auto table = Csv::parse("set,gpus\nmulti-node,8\n", "vtrain_a100_iteration_times.csv");
  ASSERT_TRUE(table);
  EXPECT_FALSE(score_vtrain(*table, {builtin()}));
}

}  // namespace
}  // namespace photonrail::validation

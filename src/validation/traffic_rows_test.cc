// What a row of a table means: whole vectors in bytes, bus bandwidth = bytes * 2 (n - 1) / n / time, the context of a
// decoding kernel = cached tokens and the new one. Rows that the calibration holds must come back and be apart.
#include <gtest/gtest.h>

#include <cmath>

#include "validation/scorers.h"

namespace photonrail::validation {
namespace {

const catalog::Catalog& the_catalog() {
  static const catalog::Catalog catalog = *catalog::Catalog::builtin();
  return catalog;
}

std::vector<Point> points_of(Scorer scorer, const std::string& text) {
  const Result<Csv> table = Csv::parse(text, "table.csv");
  EXPECT_TRUE(table) << table.error().message;
  const Result<std::vector<Point>> points = scorer(*table, {the_catalog()});
  EXPECT_TRUE(points) << points.error().message;
  return points.value_or(std::vector<Point>{});
}

constexpr const char* kAttention =
    "gpu,phase,batch,isl_new_tokens,past_kv_step,num_heads,num_kv_heads,head_dim,attn_dtype,kv_dtype,latency_us,"
    "source\n";

TEST(TrafficRows, AttentionOfTheCalibrationIsApart) {
  const std::vector<Point> points =
      points_of(score_attention, std::string(kAttention) +
                                     "h100,generation,16,1,2047,64,8,128,bfloat16,bfloat16,69.3,s\n"
                                     "h100,context,1,8192,0,8,8,128,bfloat16,bfloat16,354.8,s\n"
                                     "h100,generation,16,1,1999,64,8,128,bfloat16,bfloat16,68,s\n");
  ASSERT_EQ(points.size(), 3U);
  EXPECT_NEAR(*points[0].row.ours, 69.3, 0.7);
  EXPECT_NEAR(*points[1].row.ours, 354.8, 4);
  EXPECT_FALSE(points[0].apart.empty());
  EXPECT_FALSE(points[1].apart.empty());
  EXPECT_TRUE(points[2].apart.empty());
}

TEST(TrafficRows, Collectives) {
  const std::vector<Point> nccl =
      points_of(score_nccl,
                "gpu,collective,dtype,num_gpus,message_bytes,latency_us,source\n"
                "h100,all_gather,half,8,536870912,1401.5,s\nh100,alltoall,int8,4,1048576,15.56,s\n");
  ASSERT_EQ(nccl.size(), 2U);
  EXPECT_NEAR(*nccl[0].row.ours, 1401.5, 2);
  EXPECT_FALSE(nccl[0].apart.empty());
  EXPECT_NEAR(*nccl[1].row.ours, 15.56, 0.1);
  EXPECT_TRUE(nccl[1].apart.empty());

  // 33M stands for 2^25 bytes: 2^25 * 7/4 / 295.53 GB/s = 198.7 us.
  const std::vector<Point> azure = points_of(
      score_azure_all_reduce, "gpu,num_gpus,message_size_label_bytes,busbw_GBps,source\nH100,8,33M,295.53,s\n");
  ASSERT_EQ(azure.size(), 1U);
  EXPECT_NEAR(*azure[0].row.published, 198.7, 0.1);
  EXPECT_NEAR(*azure[0].row.ours, 199.8, 1);

  const std::vector<Point> nodes = points_of(score_multinode,
                                             "setup,op,ranks,payload,busbw_GBps,source\n\"B200 P6, 4 "
                                             "nodes\",all_reduce,32,4GiB,377.34,s\nother,all_reduce,,1GiB,9,s\n");
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_NEAR(*nodes[0].row.published, std::ldexp(1, 32) * 2 * 31 / 32 / 377.34e3, 1);
  EXPECT_NEAR(*nodes[0].row.ours / *nodes[0].row.published, 1, 0.05);

  // Two nodes: the network is not described, so the row is passed over.
  EXPECT_TRUE(points_of(score_vidur_network,
                        "cluster,op,num_workers,devices_per_node,size_bytes_as_listed,median_ms,source\n"
                        "a100_dgx,all_reduce,16,8,2048,0.065,s\n")
                  .empty());
}

TEST(TrafficRows, BadRowsAreRefused) {
  const auto refused = [](Scorer scorer, const std::string& text) {
    const Result<Csv> table = Csv::parse(text, "table.csv");
    const auto points = scorer(*table, {the_catalog()});
    return !points && points.error().message.find("table.csv:2") != std::string::npos;
  };
  EXPECT_TRUE(
      refused(score_attention, std::string(kAttention) + "h100,context,1,8192,0,8,0,128,bfloat16,bfloat16,354.8,s\n"));
  EXPECT_TRUE(refused(score_nccl,
                      "gpu,collective,dtype,num_gpus,message_bytes,latency_us,source\n"
                      "h100,broadcast,half,8,1024,1,s\n"));
  EXPECT_TRUE(refused(score_azure_all_reduce,
                      "gpu,num_gpus,message_size_label_bytes,busbw_GBps,source\nH100,8,33X,295.53,s\n"));
}

}  // namespace
}  // namespace photonrail::validation

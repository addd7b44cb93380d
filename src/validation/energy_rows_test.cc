// Rules of energy_rows.cc: a row with a step time is scored, one without is scored apart; readings behind the supplies
// leave their loss out; a GPU that the catalog lacks is refused and the rest goes on.
#include <gtest/gtest.h>

#include "validation/scorers.h"

namespace photonrail::validation {
namespace {

constexpr const char* kHeader =
    "submitter,system,benchmark,n_nodes_with_readings,avg_node_w_in_run,"
    "interconnect_power_est_submitter_units_unknown,global_batch,median_step_s\n";

std::vector<Point> score(const std::string& rows) {
  static const catalog::Catalog kCatalog = catalog::Catalog::builtin().value();
  const Csv table = Csv::parse(kHeader + rows, "mlperf_training_power.csv").value();
  return score_training_power(table, {kCatalog}).value();
}

// 6 P + 6 L h s operations a token; 4,194,304 tokens in 10.64 s on 512 GPUs.
TEST(energy_rows, step_time_decides_the_power_of_a_node) {
  const auto fast = score("x,64xSMC-H100-SXM-80GB,gpt3,64,6800,,2048,10.64\n");
  const auto slow = score("x,64xSMC-H100-SXM-80GB,gpt3,64,6800,,2048,21.28\n");
  ASSERT_TRUE(fast[0].row.ours && slow[0].row.ours);
  EXPECT_EQ(fast[0].row.id, "mlperf_training_power/1");
  EXPECT_EQ(fast[0].apart, "");
  // Half the operations: half of what products draw, with fans and supplies on top.
  const double per_gpu = (6 * 175e9 + 6.0 * 96 * 12288 * 2048) * 2048 * 2048 / 10.64 / 512;
  const double e_bf16 = (700 * 0.75 - 0.2 * 3.35e12 * 8 * 6e-12) / 794e12;
  EXPECT_NEAR(*fast[0].row.ours - *slow[0].row.ours, 8 * per_gpu / 2 * 0.54 * e_bf16 * 1.1 / 0.945, 0.5);
  EXPECT_NEAR(*fast[0].row.relative_error, *fast[0].row.ours / 6800 - 1, 1e-12);
}

TEST(energy_rows, readings_behind_the_supplies_leave_their_loss_out) {
  const auto plug = score("smc-ac-power,1xSMC-H100-SXM-80GB,ssd,1,6800,,256,\n");
  const auto behind = score("smc-dc-power,1xSMC-H100-SXM-80GB,ssd,1,6800,,256,\n");
  EXPECT_NEAR(*behind[0].row.ours, *plug[0].row.ours * 0.945, 1e-6);
  EXPECT_NE(plug[0].apart, "");
}

TEST(energy_rows, networks_are_points_of_their_own_and_apart) {
  const auto points = score("x,64xSMC-H100-SXM-80GB,gpt3,64,6742,59570,2048,10.64\n");
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[1].row.id, "mlperf_training_power/1");
  EXPECT_NE(points[1].apart, "");
  EXPECT_NEAR(*points[1].row.ours, 512 * 3 * 20.7 * 0.85, 1e-6);
}

TEST(energy_rows, what_is_not_known_is_refused_and_the_rest_goes_on) {
  const auto points =
      score("x,1xTPU-v9,gpt3,1,500,,8,1\nx,1xSMC-H100,unheard_of,1,500,,8,1\nx,1xSMC-H100,ssd,1,500,,8,\n");
  ASSERT_EQ(points.size(), 3U);
  EXPECT_NE(points[0].row.refused->message.find("TPU-v9"), std::string::npos);
  EXPECT_TRUE(points[1].row.refused);
  EXPECT_TRUE(points[2].row.ours);
}

}  // namespace
}  // namespace photonrail::validation

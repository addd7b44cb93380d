// Theory under test (power.h): E = min(P_limit t, (P_idle + P_busy) t + sum of e * amount); the best measured product
// runs at the limit; P_plug = (P_gpus + P_others)(1 + fans) / efficiency * facility.
#include "energy/power.h"

#include <gtest/gtest.h>

namespace photonrail::energy {
namespace {

catalog::Gpu h100() { return catalog::Catalog::builtin()->gpu("H100").value(); }

TEST(power, best_measured_product_draws_exactly_the_limit) {
  const GpuPower power = power_of(h100()).value();
  Activity second{.seconds = 1};
  second.flops[static_cast<std::size_t>(operators::Dtype::bf16)] = 794e12;
  second.memory_bytes = 0.2 * 3.35e12;
  EXPECT_NEAR(joules(power, second), 700, 1e-6);
}

TEST(power, idle_gpu_draws_its_static_power_and_work_adds_to_it) {
  const GpuPower power = power_of(h100()).value();
  const Activity idle{.seconds = 2};
  EXPECT_DOUBLE_EQ(joules(power, idle), 2 * (0.12 + 0.13) * 700);
  Activity reads = idle;
  reads.memory_bytes = 1e12;
  EXPECT_NEAR(joules(power, reads) - joules(power, idle), 8e12 * 6e-12, 1e-9);
}

TEST(power, the_limit_holds_and_the_parts_still_add_up) {
  const GpuPower power = power_of(h100()).value();
  Activity second{.seconds = 1};
  second.flops.fill(1e15);
  const GpuEnergy energy = energy_of(power, second);
  EXPECT_TRUE(energy.capped);
  EXPECT_NEAR(energy.total(), 700, 1e-9);
  EXPECT_DOUBLE_EQ(energy.idle, 0.12 * 700);
}

TEST(power, eight_bit_operations_cost_about_half) {
  const GpuPower power = power_of(h100()).value();
  const auto of = [&](operators::Dtype d) { return power.per_flop[static_cast<std::size_t>(d)]; };
  EXPECT_DOUBLE_EQ(of(operators::Dtype::fp8), 0.54 * of(operators::Dtype::bf16));
  EXPECT_GT(of(operators::Dtype::fp32), 5 * of(operators::Dtype::bf16));
}

TEST(power, plug_power_has_fans_and_supply_losses_on_top) {
  const Node node = node_of(h100(), {});
  EXPECT_EQ(node.gpus, 8);
  EXPECT_NEAR(parts_watts(node), 2 * 200 + 130 + 4 * 80 + 8 * 26 + 8 * 9 + 60 + 60, 1e-9);
  EXPECT_NEAR(plug_watts(node, 5600), (5600 + 1250) * 1.10 / 0.945, 1e-6);
  EXPECT_NEAR(8 * (overhead_watts_per_gpu(node, 700) + 700), plug_watts(node, 5600), 1e-6);
}

TEST(power, gpu_without_a_power_limit_is_refused_by_name) {
  catalog::Gpu gpu = h100();
  gpu.power = {};
  gpu.power.unknown = "not published";
  const auto power = power_of(gpu);
  ASSERT_FALSE(power);
  EXPECT_NE(power.error().message.find("power limit of H100"), std::string::npos);
}

}  // namespace
}  // namespace photonrail::energy

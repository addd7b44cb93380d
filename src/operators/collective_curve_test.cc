// Theory (collective_curve.h): inside a domain as measured; across D domains of g ranks with hop latency a
//   all_gather = inside latency + (D - 1) (a + (g - 1) b) + max(x / (g r), transfer inside)
//   all_reduce = the quicker of a ring and a tree of 2 ceil(log2 D) hops with 0.92 of the rate.
#include "operators/collective_curve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cctype>
#include <cmath>

#include "operators/kernel_model.h"
#include "operators/tables.h"

namespace photonrail::operators {
namespace {

constexpr CollectiveLibrary kNccl = CollectiveLibrary::nccl;
constexpr CollectiveLibrary kCustom = CollectiveLibrary::custom;

KernelModel kernels(const std::string& gpu) {
  static const catalog::Catalog catalog = *catalog::Catalog::builtin();
  const auto entry = catalog.gpu(gpu);
  EXPECT_TRUE(entry) << entry.error().message;
  auto model = KernelModel::make(*entry);
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

const NetworkConstants& network() { return (*calibration_tables())->collectives.network; }

double time(const std::string& gpu, Collective kind, RankSpan span, double bytes, CollectiveLibrary library = kNccl) {
  return kernels(gpu).collective(kind, span, library).at(bytes).seconds;
}

// A wrong column, unit or mix of ranks turns this red: every NCCL cell is compared; custom ones may only be quicker.
TEST(CollectiveCurve, MeasuredTimesComeBack) {
  const auto& tables = (*calibration_tables())->collectives.tables;
  EXPECT_GT(tables.size(), 50U);
  for (const CollectiveTable& table : tables) {
    std::string name = table.gpu;
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    const KernelModel model = kernels(name);
    const RankSpan span{table.ranks, table.ranks};
    const CollectiveCurve curve = model.collective(table.kind, span, table.library);
    for (int i = table.times.first; i <= table.times.last; ++i) {
      const double bytes = MessageTimes::bytes(i);
      const double measured = table.times.seconds[static_cast<std::size_t>(i)];
      const KernelTime got = curve.at(bytes);
      if (table.library == kNccl) {
        ASSERT_DOUBLE_EQ(got.seconds, measured) << name << " " << table.ranks << " " << bytes;
      }
      ASSERT_LE(got.seconds, measured);
      ASSERT_EQ(got.basis, Basis::measured) << name << " " << table.ranks << " " << bytes;
    }
  }
}

// Reference values as they stand in the measured tables (microseconds).
TEST(CollectiveCurve, KnownMeasurements) {
  EXPECT_NEAR(time("H100", Collective::all_reduce, {8, 8}, 512) * 1e6, 15.6, 0.1);
  EXPECT_NEAR(time("H100", Collective::all_reduce, {8, 8}, 8192, kCustom) * 1e6, 3.54, 0.02);
  EXPECT_NEAR(time("B200", Collective::all_gather, {8, 8}, 1 << 29) * 1e6, 761, 1);
  EXPECT_NEAR(time("A100", Collective::all_reduce, {4, 4}, 1 << 30) * 1e6, 7219, 2);
  EXPECT_NEAR(time("H100", Collective::send, {2, 2}, 1 << 25) * 1e6, 100, 5);
}

// On 8 B200 NCCL overtakes the kernels of the engine at 64 MiB.
TEST(CollectiveCurve, CustomFallsBackToNccl) {
  for (const char* gpu : {"H100", "H200", "B200"}) {
    for (int i = 0; i < MessageTimes::kNodes; ++i) {
      const double bytes = MessageTimes::bytes(i);
      EXPECT_LE(time(gpu, Collective::all_reduce, {8, 8}, bytes, kCustom),
                time(gpu, Collective::all_reduce, {8, 8}, bytes))
          << gpu << " " << bytes;
    }
  }
}

TEST(CollectiveCurve, BetweenRanksAndBeyond) {
  const double four = time("H100", Collective::all_gather, {4, 4}, 1 << 20);
  const double eight = time("H100", Collective::all_gather, {8, 8}, 1 << 20);
  const double six = time("H100", Collective::all_gather, {6, 6}, 1 << 20);
  EXPECT_NEAR(six, four + std::log2(1.5) * (eight - four), 1e-12);
  // One domain of 72: the latency of 3.17 doublings more, the transfer 71/72 over 7/8 of that of 8.
  const KernelModel gb200 = kernels("GB200");
  const CollectiveCurve curve = gb200.collective(Collective::all_gather, {72, 72}, kNccl);
  EXPECT_EQ(curve.at(1 << 20).basis, Basis::carried_over);
  const double start8 = time("B200", Collective::all_gather, {8, 8}, 256);
  const double start4 = time("B200", Collective::all_gather, {4, 4}, 256);
  const double large8 = time("B200", Collective::all_gather, {8, 8}, 1 << 29);
  const double expected = start8 + std::log2(9.0) * (start8 - start4) + (71.0 / 72) / (7.0 / 8) * (large8 - start8);
  EXPECT_NEAR(curve.at(1 << 29).seconds, expected, 1e-9);
}

TEST(CollectiveCurve, OneRankDoesNothing) {
  const CollectiveCurve curve = kernels("H100").collective(Collective::all_reduce, {1, 1}, kNccl);
  EXPECT_EQ(curve.at(1e6).seconds, 0);
  EXPECT_EQ(curve.sent(1e6), 0);
}

TEST(CollectiveCurve, BytesThatOneRankSends) {
  const KernelModel model = kernels("H100");
  EXPECT_DOUBLE_EQ(model.collective(Collective::all_reduce, {8, 8}, kNccl).sent(800), 1400);
  EXPECT_DOUBLE_EQ(model.collective(Collective::all_gather, {8, 8}, kNccl).sent(800), 700);
  EXPECT_DOUBLE_EQ(model.collective(Collective::all_to_all, {16, 8}, kNccl).sent(1600), 1500);
  EXPECT_DOUBLE_EQ(model.collective(Collective::send, {2, 1}, kNccl).sent(800), 800);
}

// Four nodes of 8 B200 reached 381.8 GB/s of bus bandwidth at 16 GiB (ml-engineering).
TEST(CollectiveCurve, FourNodes) {
  const double bytes = 16.0 * (1 << 30);
  const double bus = bytes * 2 * 31 / 32 / time("B200", Collective::all_reduce, {32, 8}, bytes);
  EXPECT_NEAR(bus / 381.8e9, 1, 0.02);
}

TEST(CollectiveCurve, AcrossDomainsByHand) {
  const double a = network().step;
  const double start = time("H100", Collective::all_reduce, {8, 8}, 256);
  // A small all-reduce over 16 nodes climbs a tree and comes back.
  EXPECT_NEAR(time("H100", Collective::all_reduce, {128, 8}, 256), start + 8 * a, 0.02 * a);
  // A large one is a ring: 30 network hops, 7 hops inside before each; all 8 NICs at ring_share of 50 GB/s.
  const double bytes = MessageTimes::bytes(MessageTimes::kNodes - 1);
  const double ring = start + 30 * (a + 7 * start / 14) + bytes * 2 * 127 / 128 / (8 * 50e9 * network().ring_share);
  EXPECT_NEAR(time("H100", Collective::all_reduce, {128, 8}, bytes), ring, 1e-9 * ring);
  const double gather = time("H100", Collective::all_gather, {8, 8}, 256);
  const double expected = gather + 15 * (a + 7 * gather / 7) + bytes * 127 / 128 / (8 * 50e9 * network().ring_share);
  EXPECT_NEAR(time("H100", Collective::all_gather, {128, 8}, bytes), expected, 1e-9 * expected);
  EXPECT_NEAR(time("H100", Collective::send, {2, 1}, 1 << 30),
              network().send + (1 << 30) / (50e9 * network().send_share), 1e-6);
  // All-to-all of 64 ranks: 56 of 64 parts leave the node, at the share that was measured for 64.
  const double sixty_four = bytes * 56 / 64 / (50e9 * network().all_to_all_share[3]);
  EXPECT_NEAR(time("H100", Collective::all_to_all, {64, 8}, bytes) / sixty_four, 1, 1e-4);
}

TEST(CollectiveCurve, NetworkRateCounts) {
  const KernelModel model = kernels("H100");
  const KernelModel fast = model.with_network_rate(gigabytes_per_second(100));
  const RankSpan span{32, 4};
  const double slow = model.collective(Collective::all_gather, span, kNccl).at(1e9).seconds;
  const double quick = fast.collective(Collective::all_gather, span, kNccl).at(1e9).seconds;
  EXPECT_LT(quick, slow);
  const RankSpan one{8, 8};
  EXPECT_EQ(model.collective(Collective::all_gather, one, kNccl).at(1e9).seconds,
            fast.collective(Collective::all_gather, one, kNccl).at(1e9).seconds);
}

// PCIe and MI300X: rates per rank at large messages; a ring, so the all-reduce takes twice the all-gather.
TEST(CollectiveCurve, LinksThatWereNotMeasured) {
  const double bytes = MessageTimes::bytes(MessageTimes::kNodes - 1);
  const double l40s = bytes * 7 / 4 / time("L40S", Collective::all_reduce, {8, 8}, bytes, kCustom);
  EXPECT_NEAR(l40s / (32e9 * network().pcie_share), 1, 0.01);
  EXPECT_NEAR(time("L40S", Collective::all_reduce, {8, 8}, bytes) / time("L40S", Collective::all_gather, {8, 8}, bytes),
              2, 0.01);
  const double mi300x = bytes * 7 / 4 / time("MI300X", Collective::all_reduce, {8, 8}, bytes);
  EXPECT_NEAR(mi300x / 312.9e9, 1, 0.01);
  // Two MI300X share one link: 47.7 GB/s measured.
  EXPECT_NEAR(bytes / time("MI300X", Collective::all_reduce, {2, 2}, bytes) / 47.7e9, 1, 0.1);
  EXPECT_EQ(kernels("L40S").collective(Collective::all_reduce, {8, 8}, kNccl).at(1e6).basis, Basis::carried_over);
}

RC_GTEST_PROP(CollectiveCurve, MoreBytesNeverTakeLess, ()) {
  static const KernelModel models[] = {kernels("H100"), kernels("GB200"), kernels("A100"), kernels("L40S"),
                                       kernels("MI300X")};
  const KernelModel& model = models[*rc::gen::inRange(0, 5)];
  const auto kind = static_cast<Collective>(*rc::gen::inRange(0, 5));
  const auto ranks = *rc::gen::inRange<std::int64_t>(2, 600);
  const auto domain = *rc::gen::inRange<std::int64_t>(1, 73);
  const CollectiveCurve curve = model.collective(kind, {ranks, domain}, *rc::gen::element(kNccl, kCustom));
  const double bytes = std::ldexp(1 + *rc::gen::inRange(0, 1000) / 1000.0, *rc::gen::inRange(0, 38));
  const double less = curve.at(bytes).seconds;
  const double more = curve.at(bytes * 1.1).seconds;
  RC_ASSERT(less > 0 && std::isfinite(more));
  RC_ASSERT(more >= less * (1 - 1e-12));
}

}  // namespace
}  // namespace photonrail::operators

// A ring moves 2(n-1)/n V per rank for an all-reduce and (n-1)/n V for its halves (collective.h). The counts below come
// from walking the ring piece by piece, so a wrong factor or an off-by-one in the steps turns them red.
#include "workload/collective.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace photonrail::workload {
namespace {

using model::Collective;

// Walks a reduce-scatter: n-1 steps, in each of which rank r sends piece (r - step) mod n to its neighbour.
std::int64_t walk_half_ring(const std::vector<std::int64_t>& pieces) {
  const auto n = static_cast<std::int64_t>(pieces.size());
  std::int64_t sent = 0;
  for (std::int64_t step = 0; step + 1 < n; ++step) {
    for (std::int64_t rank = 0; rank < n; ++rank) sent += pieces[static_cast<std::size_t>(((rank - step) % n + n) % n)];
  }
  return sent;
}

std::vector<std::int64_t> cut(std::int64_t payload, std::int64_t n) {
  std::vector<std::int64_t> pieces(static_cast<std::size_t>(n), payload / n);
  for (std::int64_t i = 0; i < payload % n; ++i) ++pieces[static_cast<std::size_t>(i)];
  return pieces;
}

TEST(Collective, GroupBytesEqualAWalkOfTheRing) {
  for (const std::int64_t n : {1, 2, 3, 8, 31}) {
    for (const std::int64_t payload : {0, 1, 7, 1000, 268435456}) {
      const std::int64_t half = walk_half_ring(cut(payload, n));
      EXPECT_EQ(ring_bytes_of_group(Collective::reduce_scatter, {payload}, n).count, half);
      EXPECT_EQ(ring_bytes_of_group(Collective::all_gather, {payload}, n).count, half);
      EXPECT_EQ(ring_bytes_of_group(Collective::all_reduce, {payload}, n).count, 2 * half);
    }
  }
}

TEST(Collective, WorkedByHand) {
  EXPECT_EQ(ring_bytes_of_rank(Collective::all_reduce, {1000}, 4).count, 1500);
  EXPECT_EQ(ring_bytes_of_rank(Collective::all_gather, {1000}, 4).count, 750);
  EXPECT_EQ(ring_bytes_of_rank(Collective::all_to_all, {1000}, 4).count, 750);
  EXPECT_EQ(ring_bytes_of_rank(Collective::broadcast, {1000}, 4).count, 1000);
  EXPECT_EQ(ring_bytes_of_group(Collective::broadcast, {1000}, 4).count, 3000);
  EXPECT_EQ(ring_bytes_of_rank(Collective::barrier, {0}, 4).count, 0);
  EXPECT_EQ(ring_bytes_of_rank(Collective::all_reduce, {1}, 3).count, 2);  // 4/3 rounded up
  EXPECT_EQ(ring_steps(Collective::all_reduce, 4), 6);
  EXPECT_EQ(ring_steps(Collective::barrier, 4), 6);
  EXPECT_EQ(ring_steps(Collective::reduce_scatter, 4), 3);
  EXPECT_EQ(ring_steps(Collective::none, 4), 0);
  EXPECT_EQ(ring_steps(Collective::all_reduce, 1), 0);
}

TEST(Collective, RankSharesCoverTheGroupWithoutExcess) {
  EXPECT_TRUE(rc::check("n times the busiest rank is the group's total, up to rounding", [] {
    const auto n = *rc::gen::inRange<std::int64_t>(1, 5000);
    const auto payload = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 40);
    const auto kind = *rc::gen::element(Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                        Collective::all_to_all);
    const Int128 total = ring_bytes_of_group(kind, {payload}, n).count;
    const Int128 shares = static_cast<Int128>(ring_bytes_of_rank(kind, {payload}, n).count) * n;
    RC_ASSERT(shares >= total);
    RC_ASSERT(shares < total + n);
  }));
}

}  // namespace
}  // namespace photonrail::workload

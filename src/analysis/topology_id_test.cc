#include "analysis/topology_id.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "analysis/analysis_test_records.h"

namespace photonrail::analysis {
namespace {

using namespace test;

TEST(TopologyId, KnowsThePublishedForms) {
  const TopologyDigits all_data = {1, 1, 1, 1};
  EXPECT_EQ(encode_topology(all_data), "1111");
  EXPECT_EQ(*pipeline_mask(all_data), 0u);
  const TopologyDigits first_boundary = {0, 0, 1, 1};
  EXPECT_EQ(*pipeline_mask(first_boundary), 12u);  // stage 0 is the highest bit
  EXPECT_EQ(*digits_of_mask(12, 4), first_boundary);
  EXPECT_EQ(topology_digit(model::Dimension::expert), 3);
}

// Ten dimensions are ten digits; any number of stages.
RC_GTEST_PROP(TopologyId, RoundTrips, ()) {
  const auto digits = *rc::gen::container<TopologyDigits>(rc::gen::inRange<std::uint8_t>(0, 10));
  const auto back = decode_topology(encode_topology(digits), digits.size());
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == digits);
}

RC_GTEST_PROP(TopologyId, MasksRoundTrip, (std::uint64_t noise)) {
  const auto stages = *rc::gen::inRange<std::size_t>(1, 65);
  const std::uint64_t mask = stages == 64 ? noise : noise & ((std::uint64_t{1} << stages) - 1);
  RC_ASSERT(*pipeline_mask(*digits_of_mask(mask, stages)) == mask);
}

TEST(TopologyId, RefusesWhatIsNotOne) {
  EXPECT_FALSE(decode_topology("110", 4).has_value());
  EXPECT_FALSE(decode_topology("11x0", 4).has_value());
  EXPECT_FALSE(digits_of_mask(16, 4).has_value());
  EXPECT_FALSE(digits_of_mask(0, 65).has_value());
  EXPECT_FALSE(pipeline_mask(TopologyDigits(65, 1)).has_value());
}

TEST(TopologyId, FollowsOneRail) {
  model::RunResult run;
  run.communications = {message(0, 0, 1, 1, 1, 2), collective(1, 2, 1, 1, 2), message(0, 1, 2, 3, 3, 4),
                        message(0, 1, 2, 5, 5, 6), collective(0, 2, 7, 7, 8)};
  const auto sequence = topology_sequence(run, 0, 3);
  std::vector<std::string> ids;
  for (const TopologyChange& change : sequence) ids.push_back(encode_topology(change.digits));
  EXPECT_EQ(ids, (std::vector<std::string>{"111", "001", "000", "001"}));
  EXPECT_EQ(sequence[3].at, picoseconds(7));
}

}  // namespace
}  // namespace photonrail::analysis

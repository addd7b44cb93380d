#include "pool/min_cut.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace photonrail::pool {
namespace {

TEST(MinCut, NamesTheNarrowestOfLinksInSeries) {
  FlowNetwork net(4);
  net.add(0, 1, 10);
  const LinkIndex narrow = net.add(1, 2, 3);
  net.add(2, 3, 7);
  const auto cut = net.smallest_cut(0, 3);
  EXPECT_EQ(cut.flow, 3);
  EXPECT_EQ(cut.links, std::vector<LinkIndex>{narrow});
}

// The graph of Cormen et al., Introduction to Algorithms, figure 26.1: value 23.
TEST(MinCut, TextbookGraph) {
  FlowNetwork net(6);
  net.add(0, 1, 16), net.add(0, 2, 13), net.add(2, 1, 4), net.add(1, 3, 12), net.add(3, 2, 9), net.add(2, 4, 14);
  net.add(4, 3, 7), net.add(3, 5, 20), net.add(4, 5, 4);
  EXPECT_EQ(net.smallest_cut(0, 5).flow, 23);
}

// Against the definition: the least capacity over all 2^(n-2) sets that hold the source and not the sink.
RC_GTEST_PROP(MinCut, EqualsTheLeastOfAllCuts, ()) {
  const auto nodes = *rc::gen::inRange<std::uint32_t>(2, 8);
  struct Arc {
    std::uint32_t from, to;
    std::int64_t capacity;
  };
  std::vector<Arc> arcs;
  FlowNetwork net(nodes);
  const auto count = *rc::gen::inRange(0, 20);
  for (int i = 0; i < count; ++i) {
    const Arc arc{*rc::gen::inRange<std::uint32_t>(0, nodes), *rc::gen::inRange<std::uint32_t>(0, nodes),
                  *rc::gen::inRange<std::int64_t>(0, 50)};
    arcs.push_back(arc);
    net.add(arc.from, arc.to, arc.capacity);
  }
  std::int64_t least = kUnlimited;
  for (std::uint32_t set = 0; set < (1U << nodes); ++set) {
    if ((set & 1U) == 0 || (set >> (nodes - 1) & 1U) != 0) continue;
    std::int64_t capacity = 0;
    for (const Arc& arc : arcs) {
      if ((set >> arc.from & 1U) != 0 && (set >> arc.to & 1U) == 0) capacity += arc.capacity;
    }
    least = std::min(least, capacity);
  }
  const auto cut = net.smallest_cut(0, nodes - 1);
  RC_ASSERT(cut.flow == least);
  std::int64_t named = 0;
  for (const LinkIndex l : cut.links) named += arcs[l].capacity;
  RC_ASSERT(named == least);
}

}  // namespace
}  // namespace photonrail::pool

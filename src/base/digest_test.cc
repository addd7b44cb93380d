#include "base/digest.h"

#include <gtest/gtest.h>

namespace photonrail {
namespace {

// The value is part of every published result: a change of the hash must not pass unnoticed.
TEST(Digest, KnownValues) {
  EXPECT_EQ(Digest().hex(), "6a09e667f3bcc908");
  Digest digest;
  digest.add(1);
  digest.add_signed(-1);
  digest.add("ring");
  EXPECT_EQ(digest.hex(), "3b05eec54b229ff6");
}

TEST(Digest, DependsOnOrderAndOnWhereTextsEnd) {
  Digest a, b, c, d;
  a.add(1);
  a.add(2);
  b.add(2);
  b.add(1);
  EXPECT_NE(a.value(), b.value());
  c.add("ab");
  c.add("c");
  d.add("a");
  d.add("bc");
  EXPECT_NE(c.value(), d.value());
}

static_assert(
    [] {
      Digest digest;
      digest.add(7);
      return digest.value();
    }() != 0,
    "a digest can be computed at compile time");

}  // namespace
}  // namespace photonrail

#include "base/random.h"

#include <cmath>

#include "base/check.h"
#include "base/digest.h"

namespace photonrail {
namespace {

// Lower half of Acklam's rational approximation to the inverse normal distribution, p in (0, 0.5].
double inverse_normal_lower(double p) {
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    return (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
              2.549732539343734e+00) *
                 q +
             4.374664141464968e+00) *
                q +
            2.938163982698783e+00) /
           ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
             3.754408661907416e+00) *
                q +
            1);
  }
  const double q = p - 0.5;
  const double r = q * q;
  return (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
            1.383577518672690e+02) *
               r -
           3.066479806614716e+01) *
              r +
          2.506628277459239e+00) *
         q /
         (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
            6.680131188771972e+01) *
               r -
           1.328068155288572e+01) *
              r +
          1);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ULL * c[0];
    const std::uint64_t p1 = 0xCD9E8D57ULL * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k = {k[0] + 0x9E3779B9U, k[1] + 0xBB67AE85U};
  }
  return c;
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t id) {
  Digest digest;
  digest.add(seed);
  digest.add(name);
  digest.add(id);
  key_ = {static_cast<std::uint32_t>(digest.value()), static_cast<std::uint32_t>(digest.value() >> 32)};
}

void RandomStream::refill() {
  const auto out =
      philox4x32({static_cast<std::uint32_t>(counter_), static_cast<std::uint32_t>(counter_ >> 32), 0, 0}, key_);
  ++counter_;
  block_ = {out[0] | (static_cast<std::uint64_t>(out[1]) << 32), out[2] | (static_cast<std::uint64_t>(out[3]) << 32)};
  used_ = 0;
}

std::uint64_t RandomStream::next() {
  if (used_ == block_.size()) refill();
  return block_[used_++];
}

double RandomStream::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double RandomStream::uniform(double low, double high) { return low + (high - low) * uniform(); }

std::uint64_t RandomStream::below(std::uint64_t bound) {
  PR_CHECK(bound > 0, "an empty range has no random member");
  // Rejection keeps every value equally likely.
  const std::uint64_t limit = bound * (UINT64_MAX / bound);
  std::uint64_t value = next();
  while (value >= limit) value = next();
  return value % bound;
}

double RandomStream::normal() {
  const double u = uniform() + 0x1.0p-54;  // never 0 or 1
  return u <= 0.5 ? inverse_normal_lower(u) : -inverse_normal_lower(1 - u);
}

}  // namespace photonrail

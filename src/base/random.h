// Named random streams. A stream is keyed by (seed, name, id): adding a draw in one place moves no other stream.
//
// Generator: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11), counter based.
// Distributions are our own inverse transforms, because those of the standard library differ between libraries.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace photonrail {

// One Philox4x32-10 block: four words from a 128-bit counter and a 64-bit key, as published.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// Not thread-safe; streams are cheap, so give each user its own.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t id = 0);

  std::uint64_t next();                      // uniform over all 64-bit values
  double uniform();                          // in [0, 1), 53 bits
  double uniform(double low, double high);   // in [low, high)
  std::uint64_t below(std::uint64_t bound);  // in [0, bound), bound > 0
  double normal();                           // mean 0, deviation 1 (Acklam's inverse, |error| < 1.2e-9)

 private:
  void refill();
  std::array<std::uint32_t, 2> key_;
  std::uint64_t counter_ = 0;
  std::array<std::uint64_t, 2> block_{};
  unsigned used_ = 2;
};

}  // namespace photonrail

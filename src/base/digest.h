// A 64-bit digest of a run: equal inputs in equal order give equal digests on every compiler and optimisation level.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace photonrail {

// Order-dependent hash of a sequence of integers and texts. Not cryptographic.
class Digest {
 public:
  constexpr void add(std::uint64_t value) {
    state_ ^= value + 0x9e3779b97f4a7c15ULL + (state_ << 6) + (state_ >> 2);
    state_ *= 0xff51afd7ed558ccdULL;
    state_ ^= state_ >> 32;
  }
  constexpr void add_signed(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  constexpr void add(std::string_view text) {
    add(text.size());
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  constexpr std::uint64_t value() const { return state_; }
  std::string hex() const;  // 16 lower-case hexadecimal digits

 private:
  std::uint64_t state_ = 0x6a09e667f3bcc908ULL;
};

}  // namespace photonrail

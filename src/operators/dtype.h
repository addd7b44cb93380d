// Number formats of operands, weights and caches.
#pragma once

#include <cstdint>

namespace photonrail::operators {

// fp8: one scale per tensor. fp8_block: one scale per 128 x 128 weights and 1 x 128 activations (DeepSeek-V3).
// nvfp4: 4 bits with an 8-bit scale per 16 values. int4: weights of 4 bits, computed in bf16. fp16 counts as bf16.
enum class Dtype : std::uint8_t { fp32, bf16, fp8, fp8_block, nvfp4, int8, int4 };
inline constexpr int kDtypes = 7;

// Bytes of one stored element, scales included.
constexpr double bytes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32: return 4;
    case Dtype::bf16: return 2;
    case Dtype::fp8: return 1;
    case Dtype::fp8_block: return 1 + 4.0 / (128 * 128);
    case Dtype::nvfp4: return 0.5 + 1.0 / 16;
    case Dtype::int8: return 1;
    case Dtype::int4: return 0.5 + 2.0 / 128;
  }
  return 0;
}

constexpr const char* name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32: return "fp32";
    case Dtype::bf16: return "bf16";
    case Dtype::fp8: return "fp8";
    case Dtype::fp8_block: return "fp8_block";
    case Dtype::nvfp4: return "nvfp4";
    case Dtype::int8: return "int8";
    case Dtype::int4: return "int4";
  }
  return "?";
}

}  // namespace photonrail::operators

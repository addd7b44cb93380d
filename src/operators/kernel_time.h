// The time of one kernel, and how far it can be trusted.
#pragma once

#include <algorithm>
#include <cstdint>

namespace photonrail::operators {

// Ordered from best to worst, so that the basis of a sum is the maximum of its parts.
enum class Basis : std::uint8_t {
  measured,      // between points that were measured on this GPU
  extended,      // this GPU's tables, beyond their edge: the utilisation of the edge is kept
  carried_over,  // utilisation measured on another GPU, with this GPU's rates
  assumed,       // a stated rule without any measurement
};

constexpr const char* name_of(Basis basis) {
  switch (basis) {
    case Basis::measured: return "measured";
    case Basis::extended: return "extended";
    case Basis::carried_over: return "carried_over";
    case Basis::assumed: return "assumed";
  }
  return "?";
}

struct KernelTime {
  double seconds = 0;
  Basis basis = Basis::measured;

  KernelTime& operator+=(const KernelTime& other) {
    seconds += other.seconds;
    basis = std::max(basis, other.basis);
    return *this;
  }
  friend KernelTime operator+(KernelTime a, const KernelTime& b) { return a += b; }
  friend KernelTime operator*(double times, KernelTime t) {
    t.seconds *= times;
    return t;
  }
};

}  // namespace photonrail::operators

// Power of a component: what it draws while it is on, and what each unit of work adds.
//
// Theory: E = sum over components of (P_static t + sum over kinds of work e_kind * amount). Per-bit constants alone (the
// photonic fabric paper) leave out P_static, which dominates links and switches: they draw nearly full power when idle.
#pragma once

#include <array>

#include "operators/dtype.h"

namespace photonrail::energy {

// What one GPU did in a span of time.
struct Activity {
  double seconds = 0;
  std::array<double, operators::kDtypes> flops{};  // by format
  double memory_bytes = 0;
  double scale_up_bytes = 0;  // sent
  double network_bytes = 0;   // sent
};

}  // namespace photonrail::energy

// Time of an operator on a GPU by the roofline model, and sums of operators.
//
// Theory (Williams, Waterman, Patterson, "Roofline", CACM 2009): an operator of F operations that moves B bytes to and
// from memory takes  t = max(F / (P e_f), B / (M e_b)) + t_launch  with peak rate P, memory bandwidth M, the
// efficiencies e_f and e_b that real kernels reach of them, and the launch floor t_launch. Operators of one stream run
// one after the other, so the time of a block is the sum of its operators' times, not the maximum of its sums.
// The efficiencies are constants here; curves over shape and size belong in this folder.
#pragma once

#include "base/units.h"

namespace photonrail::operators {

// The rates of one GPU at the precision of the job. All rates and efficiencies are > 0; efficiencies are <= 1.
struct GpuRates {
  FlopRate peak;                   // dense matrix products, a multiply-add is two operations
  Rate memory;                     // local memory bandwidth
  double matmul_efficiency = 1.0;  // share of `peak` that matrix products reach
  double memory_efficiency = 1.0;  // share of `memory` that kernels reach
  Time launch;                     // least time of any operator
};

// One operator: matrix-product operations and bytes moved to and from memory.
struct Operator {
  double flops = 0;
  double bytes = 0;
};

// A sequence of operators on one stream.
struct Work {
  double flops = 0;
  double bytes = 0;
  double seconds = 0;

  Work& operator+=(const Work& other) {
    flops += other.flops;
    bytes += other.bytes;
    seconds += other.seconds;
    return *this;
  }
  friend Work operator+(Work a, const Work& b) { return a += b; }
};

double roofline_seconds(const Operator& op, const GpuRates& gpu);
Work work_of(const Operator& op, const GpuRates& gpu);

}  // namespace photonrail::operators

// An experiment: any computation of the program as a function of values laid over its scenario. Sweeps, tornado plots,
// Monte Carlo and break-even solvers work on it and know nothing else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace photonrail::sensitivity {

struct Metric {
  std::string name;  // "tpot"
  double value = 0;
  std::string unit;  // "s"
};

// Called with "a.b=c" texts on top of the scenario; must be callable from several threads at once.
using Experiment = std::function<Result<std::vector<Metric>>(const std::vector<std::string>& sets)>;

}  // namespace photonrail::sensitivity

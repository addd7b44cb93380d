// The rows of `photonrail reproduce`, one function for each paper.
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "model/reproduce.h"

namespace photonrail::cli {

using Rows = std::vector<model::ReproduceRow>;

Result<Rows> opus_rows(const ReproduceOptions& options);
Result<Rows> photonic_fabric_rows(const ReproduceOptions& options);

}  // namespace photonrail::cli

// topo_id, the paper's name for the state of a rail, as a view; the inner representation is the set of circuits.
//
// One decimal digit per pipeline stage, stage 0 first (most significant); the digit says which dimension of parallelism
// owns the stage's circuits: 0 pipeline, 1 data, 2 context, 3 expert, 4 tensor, 5 other, 6-9 free (0, 1 and 3 as in the
// published expert-parallel simulator, the rest ours). Kept as text, so that it has no limit in stages.
// The published dense simulator has bits instead: 1 where a stage is in pipeline mode; stage 0 is the highest bit.
//
// Rule of change (published): a send puts the stages of both its ends into pipeline mode, a collective puts its own
// stage into its dimension; a stage keeps its mode until the next operation. All stages start in data mode. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/run_result.h"

namespace photonrail::analysis {

using TopologyDigits = std::vector<std::uint8_t>;  // per stage, each 0..9

std::uint8_t topology_digit(model::Dimension dimension);

// "1100"; an empty list gives "". Digits above 9 abort.
std::string encode_topology(std::span<const std::uint8_t> digits);
// Refuses anything but digits, and a length other than `stages`.
Result<TopologyDigits> decode_topology(std::string_view text, std::size_t stages);

// The bit form: of the digits, which are in pipeline mode. Refuses more than 64 stages.
Result<std::uint64_t> pipeline_mask(std::span<const std::uint8_t> digits);
// Pipeline where the bit is 1, data where it is 0. Refuses more than 64 stages, or bits beyond them.
Result<TopologyDigits> digits_of_mask(std::uint64_t mask, std::size_t stages);

struct TopologyChange {
  Time at;  // start of the operation that asked for it
  TopologyDigits digits;
};

// The states of one rail over time, the start included (at time 0); consecutive ones differ.
std::vector<TopologyChange> topology_sequence(const model::RunResult& run, std::uint32_t rail, std::size_t stages);

}  // namespace photonrail::analysis

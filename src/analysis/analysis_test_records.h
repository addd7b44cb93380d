// For tests: communication records written by hand, times in picoseconds.
#pragma once

#include <cstdint>

#include "model/run_result.h"

namespace photonrail::analysis::test {

inline model::CommRecord collective(std::uint32_t rail, std::uint32_t stage, std::int64_t issued, std::int64_t started,
                                    std::int64_t finished) {
  model::CommRecord r;
  r.collective = model::Collective::all_reduce;
  r.dimension = model::Dimension::data;
  r.rail = rail;
  r.stage = stage;
  r.stage_peer = stage;
  r.issued_first = picoseconds(issued);
  r.issued_last = picoseconds(issued);
  r.started = picoseconds(started);
  r.finished = picoseconds(finished);
  r.wire_bytes = {100};
  return r;
}

inline model::CommRecord message(std::uint32_t rail, std::uint32_t from, std::uint32_t to, std::int64_t issued,
                                 std::int64_t started, std::int64_t finished) {
  model::CommRecord r = collective(rail, from, issued, started, finished);
  r.collective = model::Collective::none;
  r.dimension = model::Dimension::pipeline;
  r.stage_peer = to;
  return r;
}

}  // namespace photonrail::analysis::test

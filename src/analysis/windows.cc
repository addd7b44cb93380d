#include "analysis/windows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace photonrail::analysis {
namespace {

using model::CommRecord;

bool starts_before(const CommRecord* a, const CommRecord* b) {
  const auto key = [](const CommRecord* r) {
    return std::tuple(r->started, r->issued_last, r->finished, r->dimension, r->group, r->peer, r->ordinal);
  };
  return key(a) < key(b);
}

Phase open_phase(const CommRecord& r, std::uint32_t rail, std::uint32_t stage) {
  return {rail, stage, r.dimension, 0, 0, {}, r.issued_last, r.started, r.finished};
}

void append_windows(std::span<const Phase> phases, std::vector<Window>& windows) {
  for (std::size_t i = 1; i < phases.size(); ++i) {
    const Phase& before = phases[i - 1];
    const Phase& after = phases[i];
    windows.push_back({after.rail, after.stage, before.dimension, after.dimension, before.finished,
                       after.issued - before.finished, after.wire_bytes, after.operations});
  }
}

}  // namespace

std::vector<Phase> split_phases(std::span<const CommRecord* const> operations, std::uint32_t rail,
                                std::uint32_t stage) {
  std::vector<Phase> phases;
  std::set<std::tuple<model::Collective, std::uint32_t, std::uint32_t, std::uint32_t>> rounds;  // of the last phase
  for (const CommRecord* r : operations) {
    if (phases.empty() || phases.back().dimension != r->dimension) {
      phases.push_back(open_phase(*r, rail, stage));
      rounds.clear();
    }
    Phase& phase = phases.back();
    ++phase.operations;
    if (rounds.emplace(r->collective, r->stage, r->stage_peer, r->ordinal).second) ++phase.rounds;
    phase.wire_bytes += r->wire_bytes;
    phase.issued = std::min(phase.issued, r->issued_last);
    phase.started = std::min(phase.started, r->started);
    phase.finished = std::max(phase.finished, r->finished);
  }
  return phases;
}

WindowAnalysis analyse_windows(const model::RunResult& run) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const CommRecord*>> by_place;  // (rail, stage)
  for (const CommRecord& r : run.communications) {
    if (r.path != model::Path::rail) continue;
    by_place[{r.rail, r.stage}].push_back(&r);
    const bool is_message = r.collective == model::Collective::none;
    if (is_message && r.stage_peer != r.stage) by_place[{r.rail, r.stage_peer}].push_back(&r);
  }
  WindowAnalysis out;
  for (auto& [place, operations] : by_place) {
    std::sort(operations.begin(), operations.end(), starts_before);
    const std::vector<Phase> phases = split_phases(operations, place.first, place.second);
    append_windows(phases, out.windows);
    out.phases.insert(out.phases.end(), phases.begin(), phases.end());
  }
  return out;
}

}  // namespace photonrail::analysis

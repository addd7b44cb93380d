#include "published/layout.h"

namespace photonrail::published {
namespace {

bool are_ring_neighbours(std::uint32_t x, std::uint32_t y, std::uint32_t n) {
  return x != y && ((x + 1) % n == y || (y + 1) % n == x);
}

}  // namespace

LinkClass Layout::link_class(std::uint32_t from, std::uint32_t to) const {
  const std::uint32_t from_dp = from % dp, to_dp = to % dp;
  const std::uint32_t from_tp = from / dp % tp, to_tp = to / dp % tp;
  const std::uint32_t from_stage = stage_of(from), to_stage = stage_of(to);
  if (from_stage == to_stage && from_dp == to_dp && from_tp != to_tp) return LinkClass::tensor;
  if (from_stage == to_stage && from_tp == to_tp && are_ring_neighbours(from_dp, to_dp, dp)) return LinkClass::data;
  if (from_dp == to_dp && from_tp == to_tp && are_ring_neighbours(from_stage, to_stage, pp)) return LinkClass::pipeline;
  return LinkClass::none;
}

bool Layout::is_joined(std::uint32_t topology, std::uint32_t stage) const {
  if (pp < 2 || !in_pipeline_mode(topology, stage)) return false;
  return in_pipeline_mode(topology, (stage + 1) % pp) || in_pipeline_mode(topology, (stage + pp - 1) % pp);
}

bool Layout::is_up(std::uint32_t topology, std::uint32_t from, std::uint32_t to) const {
  const LinkClass kind = link_class(from, to);
  if (kind == LinkClass::none) return false;
  if (kind == LinkClass::tensor || topology == kEverything) return true;
  if (kind == LinkClass::data) return !is_joined(topology, stage_of(from));
  return in_pipeline_mode(topology, stage_of(from)) && in_pipeline_mode(topology, stage_of(to));
}

}  // namespace photonrail::published

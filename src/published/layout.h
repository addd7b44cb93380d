// Layout of ranks and the rates of all links for each topology, by the published generator's rules.
//
// rank = stage x (tp x dp) + tp_index x dp + dp_index: data-parallel neighbours are consecutive ranks.
// Links (each direction on its own):
//   tensor    the clique of one stage and one dp_index, at the scale-up rate, in every topology
//   data      ring over dp_index of one stage and tp_index, at the scale-out rate
//   pipeline  ring over stages of one tp_index and dp_index (last and first are neighbours), at the scale-out rate
// Topology id = sum over stages of flag << (stages - 1 - stage); flag 1 says that the stage is in pipeline mode. Two
// neighbouring stages with their flags set are joined; a stage that is joined to a neighbour loses its data ring.
// `everything` is the static "EPS" matrix: all of them at once.
//
// Source: opusfabric/Opus @795ee5b3, topo_gen_pp_split.py (rules restated in data/opus/README.md, section 5).
#pragma once

#include <cstdint>

namespace photonrail::published {

enum class LinkClass : std::uint8_t { none, tensor, data, pipeline };

// Rates in bytes per nanosecond.
struct LinkRates {
  double tensor = 0;
  double data = 0;
  double pipeline = 0;
};

struct Layout {
  std::uint32_t dp = 1;
  std::uint32_t pp = 1;
  std::uint32_t tp = 1;

  static constexpr std::uint32_t kEverything = 0xffffffffU;  // topology id of the static matrix

  std::uint32_t ranks() const { return dp * pp * tp; }
  std::uint32_t stage_of(std::uint32_t rank) const { return rank / (dp * tp); }
  std::uint32_t topologies() const { return 1U << pp; }

  LinkClass link_class(std::uint32_t from, std::uint32_t to) const;
  bool is_up(std::uint32_t topology, std::uint32_t from, std::uint32_t to) const;
  bool in_pipeline_mode(std::uint32_t topology, std::uint32_t stage) const {
    return ((topology >> (pp - 1 - stage)) & 1U) != 0;
  }
  // Stage is in pipeline mode and so is a neighbour: its data ring is down.
  bool is_joined(std::uint32_t topology, std::uint32_t stage) const;
};

// GB/s as bytes per nanosecond, in the order of the original's arithmetic.
inline double bytes_per_nanosecond(double gigabytes_per_second, double bytes_per_gigabyte) {
  return gigabytes_per_second * bytes_per_gigabyte / 1'000'000'000.0;
}

}  // namespace photonrail::published

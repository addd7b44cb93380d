// T5, T7, T8: energy per bit, by the paper's own arithmetic (section 4.2):
//   E = E_adapter + sum of switches + E_adapter, for a path of k switches; one constant inside a tray.
#include <fmt/format.h>

#include <algorithm>

#include "energy/step_energy.h"
#include "photonic_fabric/rows.h"

namespace photonrail::photonic_fabric {
namespace {

using energy::PublishedConstants;

constexpr double kPico = 1e12;
constexpr int kSwitchesMax = 5;  // one tier up and down: 1; two: 3; three: 5

double electrical(const PublishedConstants& c, int switches) { return energy::path_energy(c, switches, 1).electrical; }
double photonic(const PublishedConstants& c, int switches) { return energy::path_energy(c, 1, switches).photonic; }
double saving(double before, double after) { return 1 - after / before; }

std::string constants_text(const PublishedConstants& c) {
  return fmt::format("adapter {:g}, switch {:g}, tray {:g} pJ/bit electrical; {:g}, {:g}, {:g} photonic",
                     c.adapter.joules * kPico, c.electrical_switch.joules * kPico, c.electrical_tray.joules * kPico,
                     c.photonic_adapter.joules * kPico, c.photonic_switch.joules * kPico,
                     c.photonic_tray.joules * kPico);
}

void add_paths(const PublishedConstants& c, Rows& rows) {
  const std::string one = "path of one switch: " + constants_text(c);
  rows.push_back(row("T7/path/electrical", one, "energy of a bit", "pJ/bit", 165, rounded(electrical(c, 1) * kPico, 6),
                     paper("4.2 and 5")));
  rows.push_back(row("T7/path/photonic", one, "energy of a bit", "pJ/bit", 35, rounded(photonic(c, 1) * kPico, 6),
                     paper("4.2 and 5")));
  rows.push_back(row("T7/path/saving", one, "saving, to 3 decimals", "ratio", 0.788,
                     rounded(saving(electrical(c, 1), photonic(c, 1)), 3), paper("5, by arithmetic")));
  PublishedConstants fair = c;
  fair.protocol_engine.joules = 25e-12;
  for (const int k : {1, kSwitchesMax}) {
    rows.push_back(own_row(fmt::format("T7/own/protocol_engine/{}", k),
                           "photonic endpoints with a protocol engine of 25 pJ/bit (assumed): the 65 pJ/bit adapter is "
                           "a whole network card, the 5 pJ/bit transceiver is light alone",
                           fmt::format("saving, {} on the path", k == 1 ? "one switch" : fmt::format("{} switches", k)),
                           "ratio", saving(electrical(fair, k), photonic(fair, k))));
  }
  // 120 of the 130 pJ/bit saved come from the ends.
  rows.push_back(own_row("T7/own/adapter_share", one, "part of the saving that is due to the adapters", "ratio",
                         2 * (c.adapter.joules - c.photonic_adapter.joules) / (electrical(c, 1) - photonic(c, 1))));
  const std::string tray = "scale-up domain (NVLink) and photonic tray: " + constants_text(c);
  rows.push_back(row("T8/tray/electrical", tray, "energy of a bit", "pJ/bit", 50,
                     rounded(c.electrical_tray.joules * kPico, 6), paper("4.2")));
  rows.push_back(row("T8/tray/photonic", tray, "energy of a bit", "pJ/bit", 10,
                     rounded(c.photonic_tray.joules * kPico, 6), paper("4.2")));
  rows.push_back(row("T8/tray/saving", tray, "saving", "ratio", 0.8,
                     rounded(saving(c.electrical_tray.joules, c.photonic_tray.joules), 6), paper("5, by arithmetic")));
}

// "60-90 % in all training": the whole range that the constants span, whatever the workload.
void add_range(const PublishedConstants& c, Rows& rows) {
  double least = 1;
  double most = 0;
  const std::string grid = "closed form: k electrical switches against k photonic ones, one hop, or one tray";
  const auto add = [&](std::string id, std::string what, double value) {
    least = std::min(least, value);
    most = std::max(most, value);
    rows.push_back(own_row(std::move(id), grid, std::move(what), "ratio", value));
  };
  for (int k = 1; k <= kSwitchesMax; ++k) {
    add(fmt::format("T5/own/like_for_like/{}", k), fmt::format("saving, like for like, switches on the path: {}", k),
        saving(electrical(c, k), photonic(c, k)));
  }
  for (int k = 2; k <= kSwitchesMax; ++k) {
    add(fmt::format("T5/own/one_hop/{}", k), fmt::format("saving, {} switches to one photonic hop", k),
        saving(electrical(c, k), photonic(c, 1)));
  }
  add("T5/own/tray/1", "saving, one switch to a photonic tray", saving(electrical(c, 1), c.photonic_tray.joules));
  add("T5/own/tray/tray", "saving, scale-up domain to a photonic tray",
      saving(c.electrical_tray.joules, c.photonic_tray.joules));
  const std::string range =
      "every saving that the paper's constants can give: paths of 1 to 5 switches like for like, "
      "collapsed to one hop, to a tray; so the range says nothing of the workload";
  Rows claim = {row("T5/saving/60", range, "smallest saving", "ratio", 0.6, least, paper("5, all trainings")),
                row("T5/saving/90", range, "largest saving", "ratio", 0.9, most, paper("5, all trainings"))};
  rows.insert(rows.begin(), claim.begin(), claim.end());
}

}  // namespace

Rows energy_rows() {
  const PublishedConstants constants;
  Rows rows;
  add_range(constants, rows);
  add_paths(constants, rows);
  return rows;
}

}  // namespace photonrail::photonic_fabric

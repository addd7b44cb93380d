// Rules between the fields of a scenario.
#pragma once

#include <optional>
#include <string>

#include "config/read.h"
#include "model/scenario.h"

namespace photonrail::model {

// Adds an error for each broken rule, with a note for every field that takes part. A rule whose fields are not known
// yet (left to the catalog) is passed over.
void check_rules(const Scenario& scenario, const config::Places& places, config::Diagnostics& diagnostics);

// Photonic rails and NICs of different rates are no comparison of fabrics alone: says so, or nothing where both have
// the same rate per GPU.
std::optional<std::string> unequal_rates_note(std::int64_t ports, Rate port_rate, Rate nic_rate);

}  // namespace photonrail::model

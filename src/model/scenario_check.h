// Rules between the fields of a scenario.
#pragma once

#include "config/read.h"
#include "model/scenario.h"

namespace photonrail::model {

// Adds an error for each broken rule, with a note for every field that takes part. A rule whose fields are not known
// yet (left to the catalog) is passed over.
void check_rules(const Scenario& scenario, const config::Places& places, config::Diagnostics& diagnostics);

}  // namespace photonrail::model

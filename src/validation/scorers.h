// The scorers of the known tables. Each says in its .cc how a row becomes a configuration, and what it assumes.
#pragma once

#include "validation/score.h"

namespace photonrail::validation {

}  // namespace photonrail::validation

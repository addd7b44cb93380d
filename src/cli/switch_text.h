// The time of a switch of the scenario, in words.
#pragma once

#include <optional>
#include <string>

#include "base/units.h"
#include "catalog/catalog.h"
#include "model/scenario.h"

namespace photonrail::cli {

struct SwitchText {
  std::optional<Time> own;  // dark, settle, link-up and relock of the scenario's switch, typical; absent: not known
  std::string own_text;  // "polatis-6000n: dark 25 ms + ... = 3.2 s (typical)", or what is not known and how to give it
  std::string added;     // "request 100 us, controller 50 us, command 5 ms"
};

SwitchText switch_text(const model::Switching& switching, const catalog::Catalog& catalog);

}  // namespace photonrail::cli

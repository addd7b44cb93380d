// Names of policies and fabrics, as scenarios and reports have them.
#pragma once

#include "model/scenario.h"

namespace photonrail::study {

constexpr const char* name_of(model::Policy policy) {
  switch (policy) {
    case model::Policy::static_proportional: return "static_proportional";
    case model::Policy::static_sqrt: return "static_sqrt";
    case model::Policy::on_demand: return "on_demand";
    case model::Policy::provisioned: return "provisioned";
    case model::Policy::oracle: return "oracle";
  }
  return "";
}

constexpr const char* name_of(model::Fabric fabric) {
  switch (fabric) {
    case model::Fabric::rail_optimised: return "rail_optimised";
    case model::Fabric::fat_tree: return "fat_tree";
    case model::Fabric::rail_only: return "rail_only";
  }
  return "";
}

constexpr bool is_static(model::Policy policy) {
  return policy == model::Policy::static_proportional || policy == model::Policy::static_sqrt;
}

}  // namespace photonrail::study

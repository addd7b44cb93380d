// One published or measured figure beside ours. Every `reproduce` and `validate` command prints lists of these.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace photonrail::model {

struct ReproduceRow {
  std::string id;                        // unique in its list, stable: "opus/fig12/.../last"
  std::string case_name;                 // what was run, in words
  std::string quantity;                  // what is compared
  std::string unit;                      // of both numbers
  std::optional<double> published;       // absent: no figure is published, ours stands alone
  std::optional<double> ours;            // absent: it could not be made, see `refused`
  std::optional<double> relative_error;  // (ours - published) / published
  std::string source;                    // of the published figure
  std::optional<Error> refused;          // why there is no figure of ours
};

inline void set_relative_error(ReproduceRow& row) {
  if (!row.ours || !row.published || *row.published == 0) return;
  row.relative_error = (*row.ours - *row.published) / *row.published;
}

}  // namespace photonrail::model

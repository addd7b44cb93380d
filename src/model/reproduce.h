// One published or measured figure beside ours. Every `reproduce` and `validate` command prints lists of these.
#pragma once

#include <optional>
#include <string>

namespace photonrail::model {

struct ReproduceRow {
  std::string id;                   // unique in its list, stable: "opus/fig12/.../last"
  std::string case_name;            // what was run, in words
  std::string quantity;             // what is compared
  std::string unit;                 // of both numbers
  std::optional<double> published;  // absent: no figure is published, ours stands alone
  double ours = 0;
  std::optional<double> relative_error;  // (ours - published) / published
  std::string source;                    // of the published figure
};

inline void set_relative_error(ReproduceRow& row) {
  if (row.published && *row.published != 0) row.relative_error = (row.ours - *row.published) / *row.published;
}

}  // namespace photonrail::model

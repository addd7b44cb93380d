// What the scorers of kernel tables share.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "operators/kernel_model.h"
#include "validation/score.h"

namespace photonrail::validation {

inline constexpr const char* kCalibrated = "a point that the kernels are calibrated with";

// Kernels of the GPUs that a table names, made once each.
class KernelShelf {
 public:
  explicit KernelShelf(const catalog::Catalog& catalog) : catalog_(catalog) {}
  // The error is that of a GPU which is not in the catalog. Valid as long as the shelf.
  Result<const operators::KernelModel*> of(const std::string& gpu);

 private:
  const catalog::Catalog& catalog_;
  std::map<std::string, operators::KernelModel> kernels_;
};

Result<operators::Dtype> kernel_dtype(std::string_view text);
// A point in microseconds with its id, source and GPU; the table needs a column "source".
Point kernel_point(const Csv& table, std::size_t row, const operators::KernelModel& kernels,
                   std::string_view operation);
void compare_seconds(Point& point, double measured_seconds, const operators::KernelTime& ours);

}  // namespace photonrail::validation

// The calibration tables, parsed from the texts of calibration/*.csv that are in the program.
//
// Parsed once, immutable afterwards, kept until the program ends: curves may point into them. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "operators/attention_tables.h"
#include "operators/collective_tables.h"
#include "operators/dtype.h"

namespace photonrail::operators {

// Sorted positions of a table in one direction, and their logarithms. Padded with infinity, so that a search takes
// five steps without a branch that depends on the data.
struct Axis {
  static constexpr int kRoom = 32;
  std::array<double, kRoom> value{};
  std::array<double, kRoom> log{};
  int size = 0;

  // The last position <= x, at least 0 and at most size - 2.
  int below(double x) const {
    int i = 0;
    for (int step = kRoom / 2; step > 0; step /= 2) i = value[static_cast<std::size_t>(i + step)] <= x ? i + step : i;
    return i < size - 1 ? i : size - 2;
  }
};
// At least two, fewer than kRoom, ascending, > 0; `name` of the file for the message.
Result<Axis> make_axis(const std::vector<double>& values, std::string_view name);

// Products of one number format on one GPU, in the two forms of Operands (gemm.h).
// forms[form].residual[(in * k.size + ik) * Axis::kRoom + im] is ln r of kernel_model.h. last_m: the largest m that was
// measured for (n, k), as an index; beyond it the residual of the edge is kept.
struct GemmTable {
  struct Form {
    std::vector<float> residual;
    double floor = 0;  // seconds: t_0, nine tenths of the quickest product
  };
  Axis m;
  Axis n;
  Axis k;
  std::array<Form, 2> forms;
  std::vector<std::uint8_t> last_m;
};

// Peak rates with which the residuals were taken (those of the catalog), and kernels that stream through memory.
struct MeasuredGpu {
  double bf16 = 0;  // FLOP/s
  double fp8 = 0;
  double fp4 = 0;
  double memory = 0;     // bytes/s
  double best_bf16 = 0;  // best share of the bf16 peak that any product reached
  double best_fp8 = 0;
  double streaming = 0;  // share of the memory rate that streaming kernels reach
  double launch = 0;     // seconds: least time of a kernel inside a graph, with the gap to the next
};

// Tables of one GPU, named as in the file names: "h100".
struct GpuTables {
  std::string gpu;
  std::array<std::optional<GemmTable>, kDtypes> gemm;
  MeasuredGpu measured;
};

// Everything. A new kind of table is one more member here and one more call in parse_tables().
struct CalibrationTables {
  std::vector<GpuTables> gpus;
  AttentionTables attention;  // all of H100
  CollectiveTables collectives;

  const GpuTables& of(std::string_view gpu) const;  // one of `gpus`
};

// The tables in the program. A text that cannot be read is a defect of the build, reported like any other error.
Result<const CalibrationTables*> calibration_tables();
// The text of calibration/<name>; empty if there is none.
std::string_view calibration_text(std::string_view name);

// Lines of cells of a CSV text, without comments (#). Every row has as many cells as the heading. Errors name the line.
struct CsvTable {
  std::vector<std::string_view> heading;
  std::vector<std::vector<std::string_view>> rows;
};
Result<CsvTable> read_csv(std::string_view name, std::string_view text);
Result<double> number_of(std::string_view cell, std::string_view name);  // `name` for the message

}  // namespace photonrail::operators

#include "operators/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "base/check.h"
#include "operators/embedded.h"
#include "operators/gemm_residual.h"

namespace photonrail::operators {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();  // not measured
constexpr double kFloorShare = 0.9;                                // of the quickest product: t_0
constexpr double kShortest = 1e-6;                                 // seconds: no kernel is quicker

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(mark);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<std::vector<double>> numbers_of(const std::vector<std::string_view>& cells, std::size_t from,
                                       std::string_view name) {
  std::vector<double> values;
  for (std::size_t i = from; i < cells.size(); ++i) {
    PR_ASSIGN(const double value, number_of(cells[i], name));
    values.push_back(value);
  }
  return values;
}

Result<Dtype> dtype_of(std::string_view text, std::string_view name) {
  for (int i = 0; i < kDtypes; ++i) {
    if (text == name_of(static_cast<Dtype>(i))) return static_cast<Dtype>(i);
  }
  return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: unknown number format \"{}\"", name, text));
}

Result<std::size_t> column_of(const CsvTable& table, std::string_view column, std::string_view name) {
  const auto at = std::find(table.heading.begin(), table.heading.end(), column);
  if (at == table.heading.end()) {
    return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: there is no column \"{}\"", name, column));
  }
  return static_cast<std::size_t>(at - table.heading.begin());
}

Result<CsvTable> embedded_csv(const std::string& name) { return read_csv(name, calibration_text(name)); }

// Seconds over elements, straight in the logarithms.
struct QuantiseCurve {
  Axis elements;
  std::array<double, Axis::kRoom> log_seconds{};

  double at(double count) const {
    const Place place = place_on(elements, count);
    return std::exp(interpolate(log_seconds[place.at], log_seconds[place.at + 1], place.share));
  }
};

Result<QuantiseCurve> parse_quantise(const std::string& gpu) {
  constexpr const char* kName = "quantise.csv";
  PR_ASSIGN(const CsvTable csv, embedded_csv(kName));
  PR_ASSIGN(const std::size_t column, column_of(csv, gpu, kName));
  std::vector<double> elements;
  QuantiseCurve curve;
  for (const auto& row : csv.rows) {
    PR_ASSIGN(const double count, number_of(row[0], kName));
    PR_ASSIGN(const double microseconds, number_of(row[column], kName));
    if (elements.size() < Axis::kRoom) curve.log_seconds[elements.size()] = std::log(microseconds * 1e-6);
    elements.push_back(count);
  }
  PR_ASSIGN(curve.elements, make_axis(elements, kName));
  return curve;
}

// Measured seconds by (n, k) of one format, one for each m; infinity where there is no measurement.
using Times = std::map<std::pair<double, double>, std::vector<double>>;

double quickest_of(const Times& times) {
  double quickest = kNone;
  for (const auto& [shape, row] : times) quickest = std::min(quickest, row.front());
  return quickest;
}

// Times over the roofline. Where m was not measured, the residual of the largest m that was.
GemmTable::Form form_of(const Times& times, const Axis& m, const GemmScale& scale) {
  GemmTable::Form form;
  form.floor = kFloorShare * quickest_of(times);
  for (const auto& [shape, row] : times) {
    float last = 0;
    for (std::size_t im = 0; im < Axis::kRoom; ++im) {
      if (im < row.size() && row[im] != kNone) {
        const double roofline = scale.roofline(m.value[im], shape.first, shape.second);
        last = static_cast<float>(std::log(std::max(row[im] - form.floor, roofline) / roofline));
      }
      form.residual.push_back(last);
    }
  }
  return form;
}

// What quantising the activations adds to the measured times of one GPU (Operands, gemm.h): seconds.
struct Quantisation {
  std::optional<QuantiseCurve> curve;  // fp8
  double base = 0;                     // of the others: the difference from bf16 at the smallest shape ...
  double per_element = 0;              // ... and one pass over the activations

  double at(double elements) const { return curve ? curve->at(elements) : base + elements * per_element; }
};

// Times of the product alone. A short product can drown in the noise of a long quantisation: it is never below `least`,
// the roofline with the best rate that anybody measured.
Times without(const Quantisation& quantisation, const Times& times, const Axis& m, const GemmScale& least) {
  Times out = times;
  for (auto& [shape, row] : out) {
    for (std::size_t im = 0; im < row.size(); ++im) {
      if (row[im] == kNone) continue;
      const double product = row[im] - quantisation.at(m.value[im] * shape.second);
      row[im] = std::max({product, least.roofline(m.value[im], shape.first, shape.second), kShortest});
    }
  }
  return out;
}

// The quickest of splitting the depth in 1, 2, 4 and 8 parts (gemm.h).
Times split_depth(const Times& times, const GemmTable& table, const GemmTable::Form& form, const GemmScale& scale,
                  const MeasuredGpu& gpu) {
  constexpr double kSumBytes = 4;
  constexpr double kShortestReduction = 1e-6;
  const double largest_n = table.n.value[static_cast<std::size_t>(table.n.size - 1)];
  Times out = times;
  for (auto& [shape, row] : out) {
    const auto [n, k] = shape;
    for (double parts = 2; parts <= 8 && k / parts >= 512 && n * parts <= largest_n; parts *= 2) {
      const Place column = place_on(table.n, n * parts);
      const Place depth = place_on(table.k, k / parts);
      for (std::size_t im = 0; im < row.size(); ++im) {
        if (row[im] == kNone) continue;
        const double m = table.m.value[im];
        const double product =
            std::exp(at_shape(form.residual, table, column, depth, im)) * scale.roofline(m, n * parts, k / parts) +
            form.floor;
        const double sums = m * n * (parts + 1) * kSumBytes / (gpu.streaming * gpu.memory);
        row[im] = std::min(row[im], product + std::max(sums, kShortestReduction));
      }
    }
  }
  return out;
}

// The axes of the shapes in `times`; shapes that were too large to measure are filled in: the time of the next
// smaller n, in proportion, for the first m only, so that it counts as extended from there.
Result<GemmTable> gemm_table(Times& times, const Axis& m, std::string_view name) {
  std::vector<double> n_values;
  std::vector<double> k_values;
  for (const auto& [shape, row] : times) {
    n_values.push_back(shape.first);
    k_values.push_back(shape.second);
  }
  std::sort(k_values.begin(), k_values.end());
  n_values.erase(std::unique(n_values.begin(), n_values.end()), n_values.end());
  k_values.erase(std::unique(k_values.begin(), k_values.end()), k_values.end());
  for (std::size_t in = 0; in < n_values.size(); ++in) {
    for (const double k : k_values) {
      if (times.count({n_values[in], k}) > 0) continue;
      if (in == 0)
        return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: the least n lacks k {}", name, k));
      const double smaller = times.at({n_values[in - 1], k}).front();
      times[{n_values[in], k}] = {smaller * n_values[in] / n_values[in - 1]};
    }
  }
  GemmTable table;
  table.m = m;
  PR_ASSIGN(table.n, make_axis(n_values, name));
  PR_ASSIGN(table.k, make_axis(k_values, name));
  for (const auto& [shape, row] : times) {
    std::size_t last = row.size() - 1;
    while (row[last] == kNone) --last;
    table.last_m.push_back(static_cast<std::uint8_t>(last));
  }
  return table;
}

Result<std::array<Times, kDtypes>> read_times(const CsvTable& csv, const std::string& name) {
  std::array<Times, kDtypes> times;
  for (const auto& row : csv.rows) {
    PR_ASSIGN(const Dtype dtype, dtype_of(row[0], name));
    PR_ASSIGN(const double n, number_of(row[1], name));
    PR_ASSIGN(const double k, number_of(row[2], name));
    std::vector<double> seconds;
    for (std::size_t i = 3; i < row.size(); ++i) {
      if (row[i].empty()) {
        seconds.push_back(kNone);
      } else {
        PR_ASSIGN(const double microseconds, number_of(row[i], name));
        seconds.push_back(microseconds * 1e-6);
      }
    }
    if (seconds.front() == kNone)
      return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: {} x {} without its first m", name, n, k));
    times[static_cast<std::size_t>(dtype)][{n, k}] = std::move(seconds);
  }
  return times;
}

Result<Quantisation> quantisation_of(Dtype dtype, const std::array<Times, kDtypes>& times, const GpuTables& gpu) {
  Quantisation out;
  if (dtype == Dtype::fp8) {
    PR_ASSIGN(out.curve, parse_quantise(gpu.gpu));
  } else {
    const Times& own = times[static_cast<std::size_t>(dtype)];
    const Times& bf16 = times[static_cast<std::size_t>(Dtype::bf16)];
    const auto& [shape, row] = *own.begin();
    const auto same = bf16.find(shape);
    out.base = same == bf16.end() ? 0 : std::max(row.front() - same->second.front(), 0.0);
    out.per_element = (bytes_of(Dtype::bf16) + bytes_of(dtype)) / (gpu.measured.streaming * gpu.measured.memory);
  }
  return out;
}

Status parse_gemm(GpuTables& gpu) {
  const std::string name = fmt::format("gemm_{}.csv", gpu.gpu);
  PR_ASSIGN(const CsvTable csv, embedded_csv(name));
  PR_ASSIGN(const std::vector<double> m_values, numbers_of(csv.heading, 3, name));
  PR_ASSIGN(const Axis m, make_axis(m_values, name));
  PR_ASSIGN(auto times, read_times(csv, name));
  for (std::size_t i = 0; i < kDtypes; ++i) {
    if (times[i].empty()) continue;
    const auto dtype = static_cast<Dtype>(i);
    const MeasuredGpu& peaks = gpu.measured;
    const double peak = dtype == Dtype::bf16 ? peaks.bf16 : dtype == Dtype::nvfp4 ? peaks.fp4 : peaks.fp8;
    const double best = dtype == Dtype::bf16 ? peaks.best_bf16 : peaks.best_fp8;
    const GemmScale scale = gemm_scale(peak, peaks.memory, bytes_of(dtype), bytes_of(dtype));
    const GemmScale least = gemm_scale(peak * best, peaks.memory, bytes_of(dtype), bytes_of(dtype));
    PR_ASSIGN(GemmTable table, gemm_table(times[i], m, name));
    PR_ASSIGN(const Quantisation quantisation, quantisation_of(dtype, times, gpu));  // unused in bf16
    const Times product = dtype == Dtype::bf16 ? times[i] : without(quantisation, times[i], m, least);
    GemmTable::Form& prepared = table.forms[0];
    prepared = form_of(product, m, scale);
    if (dtype == Dtype::nvfp4) prepared = form_of(split_depth(product, table, prepared, scale, gpu.measured), m, scale);
    table.forms[1] = form_of(times[i], m, scale);
    gpu.gemm[i] = std::move(table);
  }
  return {};
}

// ln of the residual of A100 over that of H100: by rows below the first m of the line, by work m n k from there.
struct A100Factor {
  static constexpr double kWorkFrom = 512;  // WORK_FROM of tools/calibrate_gemm.py
  Axis rows;
  Axis work;
  std::vector<double> by_rows;
  std::vector<double> by_work;

  double at(double m, double n, double k) const {
    const bool large = m >= kWorkFrom;
    const Place place = large ? place_on(work, m * n * k) : place_on(rows, m);
    const std::vector<double>& values = large ? by_work : by_rows;
    return interpolate(values[place.at], values[place.at + 1], place.share);
  }
};

Result<A100Factor> parse_a100_factor() {
  constexpr const char* kName = "gemm_a100.csv";
  PR_ASSIGN(const CsvTable csv, embedded_csv(kName));
  A100Factor out;
  std::vector<double> rows;
  std::vector<double> work;
  for (const auto& row : csv.rows) {
    const bool line = row[0] == "work";
    if (!line && row[0] != "rows")
      return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: \"{}\" is not rows or work", kName, row[0]));
    PR_ASSIGN(const double value, number_of(row[1], kName));
    PR_ASSIGN(const double factor, number_of(row[2], kName));
    (line ? work : rows).push_back(value);
    (line ? out.by_work : out.by_rows).push_back(std::log(factor));
  }
  PR_ASSIGN(out.rows, make_axis(rows, kName));
  PR_ASSIGN(out.work, make_axis(work, kName));
  return out;
}

// A100: too few shapes were measured for a table of its own. Its residual is that of H100 in bf16 times a factor.
Status parse_a100(GpuTables& gpu, const GpuTables& h100) {
  PR_ASSIGN(const A100Factor factor, parse_a100_factor());
  GemmTable table = *h100.gemm[static_cast<std::size_t>(Dtype::bf16)];
  const auto depths = static_cast<std::size_t>(table.k.size);
  for (GemmTable::Form& form : table.forms) {
    for (std::size_t i = 0; i < form.residual.size(); ++i) {
      const std::size_t im = std::min(i % Axis::kRoom, static_cast<std::size_t>(table.m.size - 1));
      const std::size_t shape = i / Axis::kRoom;
      const double change = factor.at(table.m.value[im], table.n.value[shape / depths], table.k.value[shape % depths]);
      form.residual[i] = std::max(0.0F, form.residual[i] + static_cast<float>(change));
    }
  }
  gpu.gemm[static_cast<std::size_t>(Dtype::bf16)] = std::move(table);
  return {};
}

Result<std::vector<GpuTables>> parse_gpus() {
  constexpr const char* kName = "gpus.csv";
  PR_ASSIGN(const CsvTable csv, embedded_csv(kName));
  std::vector<GpuTables> gpus;
  for (const auto& row : csv.rows) {
    PR_ASSIGN(const std::vector<double> v, numbers_of(row, 1, kName));
    if (v.size() != 8)
      return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: 9 columns are needed", kName));
    GpuTables gpu;
    gpu.gpu = row[0];
    gpu.measured = {v[0] * 1e12, v[1] * 1e12, v[2] * 1e12, v[3] * 1e12, v[4], v[5], v[6], v[7] * 1e-6};
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Result<CalibrationTables> parse_tables() {
  CalibrationTables tables;
  PR_ASSIGN(tables.gpus, parse_gpus());
  for (GpuTables& gpu : tables.gpus) {
    if (gpu.gpu != "a100") PR_TRY(parse_gemm(gpu));
  }
  for (GpuTables& gpu : tables.gpus) {
    if (gpu.gpu == "a100") PR_TRY(parse_a100(gpu, tables.of("h100")));
  }
  PR_ASSIGN(tables.attention, parse_attention_tables());
  PR_ASSIGN(tables.collectives, parse_collective_tables());
  return tables;
}

}  // namespace

Result<Axis> make_axis(const std::vector<double>& values, std::string_view name) {
  if (values.size() < 2 || values.size() >= Axis::kRoom)
    return fail(ErrorCode::invalid_input,
                fmt::format("calibration/{}: {} positions; 2 to {} fit", name, values.size(), Axis::kRoom - 1));
  Axis axis;
  axis.value.fill(std::numeric_limits<double>::infinity());
  axis.size = static_cast<int>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > 0) || (i > 0 && values[i] <= values[i - 1]))
      return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: positions must ascend from above 0", name));
    axis.value[i] = values[i];
    axis.log[i] = std::log(values[i]);
  }
  return axis;
}

const GpuTables& CalibrationTables::of(std::string_view gpu) const {
  const auto at = std::find_if(gpus.begin(), gpus.end(), [&](const GpuTables& entry) { return entry.gpu == gpu; });
  PR_CHECK(at != gpus.end(), "a GPU without tables");
  return *at;
}

std::string_view calibration_text(std::string_view name) {
  for (const catalog::EmbeddedFile& file : embedded_files()) {
    if (file.name == name) return file.text;
  }
  return {};
}

Result<const CalibrationTables*> calibration_tables() {
  static const Result<CalibrationTables> tables = parse_tables();
  if (!tables) return fail(tables.error());
  return &*tables;
}

Result<double> number_of(std::string_view cell, std::string_view name) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value))
    return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: \"{}\" is not a number", name, cell));
  return value;
}

Result<CsvTable> read_csv(std::string_view name, std::string_view text) {
  CsvTable table;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string_view> cells = split(line, ',');
    if (table.heading.empty()) {
      table.heading = std::move(cells);
      continue;
    }
    if (cells.size() != table.heading.size())
      return fail(ErrorCode::invalid_input, fmt::format("calibration/{}:{}: {} cells under {} headings", name, number,
                                                        cells.size(), table.heading.size()));
    table.rows.push_back(std::move(cells));
  }
  if (table.rows.empty())
    return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: there is no such table, or it is empty", name));
  return table;
}

}  // namespace photonrail::operators

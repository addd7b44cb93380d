// The table celestisim_bandwidth_sensitivity.csv: Llama 3.1 405B in FP8 on one chip of 1,979 TFLOP/s, by bandwidth,
// context and batch. Its closed form, with the utilisations u_b = 0.85 and u_f = 0.7 that it was made with (as
// published):
//   bytes = P + B ctx KV,  KV = 2 L n_kv d;   t = max(bytes / (BW u_b), 2 P B / (peak u_f))
// and MFU = 2 P B / (t peak). Attention operations are left out, as there.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/read.h"
#include "photonic_fabric/rows.h"

namespace photonrail::photonic_fabric {
namespace {

constexpr std::size_t kLinesMax = 10'000;
constexpr double kBandwidthUse = 0.85;
constexpr double kFlopUse = 0.7;
constexpr double kPeak = 1979e12;
constexpr std::array<std::string_view, 10> kColumns = {
    "pool_bw_TBps", "context_tokens",        "batch",   "bytes_TB", "t_mem_ms", "t_compute_ms",
    "tpot_ms",      "tokens_per_s_per_chip", "mfu_pct", "bound"};

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == ',')
      out.emplace_back();
    else if (c != '\r')
      out.back() += c;
  }
  return out;
}

tl::unexpected<Error> refuse(const std::string& path, std::size_t line, const std::string& what) {
  return fail(ErrorCode::invalid_input, fmt::format("{}:{}: {}", path, line, what));
}

Result<double> number(const std::string& text, const std::string& path, std::size_t line) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value < 1e18)) {
    return refuse(path, line, fmt::format("\"{}\" is not a number", text));
  }
  return value;
}

struct Point {
  double rate = 0;  // TB/s
  double context = 0;
  double batch = 0;
  double tpot_ms = 0;
  double mfu_percent = 0;
};

Result<Point> point_of(const std::vector<std::string>& cells, const std::string& path, std::size_t line) {
  if (cells.size() != kColumns.size()) {
    return refuse(path, line, fmt::format("{} cells, but the header has {}", cells.size(), kColumns.size()));
  }
  Point p;
  PR_ASSIGN(p.rate, number(cells[0], path, line));
  PR_ASSIGN(p.context, number(cells[1], path, line));
  PR_ASSIGN(p.batch, number(cells[2], path, line));
  PR_ASSIGN(p.tpot_ms, number(cells[6], path, line));
  PR_ASSIGN(p.mfu_percent, number(cells[8], path, line));
  if (p.rate <= 0 || p.batch <= 0) return refuse(path, line, "bandwidth and batch must be above 0");
  return p;
}

void add_point(const Point& p, const catalog::Model& model, Rows& rows) {
  const double parameters = static_cast<double>(catalog::count_parameters(model).total);
  const std::int64_t head_size = model.head_size > 0 ? model.head_size : model.hidden / model.heads;
  const double cache = 2.0 * static_cast<double>(model.layers * model.kv_heads * head_size);
  const double bytes = parameters + p.batch * p.context * cache;
  const double work = 2 * parameters * p.batch;
  const double time = std::max(bytes / (p.rate * 1e12 * kBandwidthUse), work / (kPeak * kFlopUse));
  const std::string id = fmt::format("T3/sweep/{:g}TBs/{:.0f}/{:.0f}/", p.rate, p.context, p.batch);
  const std::string name = fmt::format(
      "405B FP8, one chip on {:g} TB/s, context {:.0f}: u_b 0.85, u_f 0.7 (as published)", p.rate, p.context);
  const std::string source = "celestisim_bandwidth_sensitivity.csv";
  rows.push_back(row(id + "tpot", name, fmt::format("batch {:.0f}: TPOT, to 2 decimals", p.batch), "ms", p.tpot_ms,
                     rounded(time * 1e3, 2), source));
  rows.push_back(row(id + "mfu", name, fmt::format("batch {:.0f}: MFU, to 2 decimals", p.batch), "%", p.mfu_percent,
                     rounded(work / (time * kPeak) * 100, 2), source));
}

}  // namespace

Result<Rows> sweep_rows(const catalog::Catalog& catalog, const std::string& path) {
  PR_ASSIGN(const catalog::Model model, catalog.model("llama-3.1-405b"));
  PR_ASSIGN(const std::string text, config::read_file(path));
  Rows rows;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::vector<std::string> cells = split(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (++line > kLinesMax) return refuse(path, line, fmt::format("more than {} lines", kLinesMax));
    if (line == 1) {
      if (!std::equal(cells.begin(), cells.end(), kColumns.begin(), kColumns.end())) {
        return refuse(path, line, fmt::format("the columns must be {}", fmt::join(kColumns, ",")));
      }
      continue;
    }
    PR_ASSIGN(const Point point, point_of(cells, path, line));
    add_point(point, model, rows);
  }
  if (rows.empty()) return refuse(path, line, "no rows");
  return rows;
}

}  // namespace photonrail::photonic_fabric

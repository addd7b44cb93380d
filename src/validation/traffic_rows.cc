// Tables of attention kernels and collectives beside the calibrated ones (kernel_rows.cc: why, and what is apart).
//
//   attention    AIConfigurator; the context of a decoding kernel is the cached tokens and the new one
//   collectives  AIConfigurator: NCCL inside one domain, in half precision the calibration itself, in int8 not;
//                Azure: 8 GPUs, other NCCL; A100 apart, which is calibrated with it
//   network      ml-engineering: B200, 8 in one node and 4 nodes of 8 with 50 GB/s a GPU (EFA), all-reduce. Unnamed
//                hardware is passed over. The largest message of 4 nodes is calibration.
//   Vidur        all-reduces inside one node; its sends are calibration, its networks are not described
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "operators/tables.h"
#include "validation/kernel_rows.h"
#include "validation/scorers.h"

namespace photonrail::validation {
namespace {

using operators::AttentionShape;
using operators::Collective;
using operators::CollectiveLibrary;
using operators::KernelModel;
using operators::RankSpan;

Result<std::int64_t> count_of(const Csv& table, std::size_t row, std::string_view column) {
  PR_ASSIGN(const double value, table.number(row, column));
  if (value < 1 || value > 1e9 || value != std::floor(value))
    return table.refuse(row, fmt::format("{} must be a count above 0", column));
  return static_cast<std::int64_t>(value);
}

struct AttentionRow {
  AttentionShape shape;
  double batch = 0;
  double tokens = 0;  // of a prompt, or the context of a decoding kernel
  bool prefill = false;

  double group() const { return static_cast<double>(shape.query_heads) / static_cast<double>(shape.kv_heads); }
};

Result<AttentionRow> attention_row(const Csv& table, std::size_t row) {
  AttentionRow result;
  PR_ASSIGN(result.shape.query_heads, count_of(table, row, "num_heads"));
  PR_ASSIGN(result.shape.kv_heads, count_of(table, row, "num_kv_heads"));
  PR_ASSIGN(result.shape.head_size, count_of(table, row, "head_dim"));
  PR_ASSIGN(const std::int64_t batch, count_of(table, row, "batch"));
  result.batch = static_cast<double>(batch);
  const auto compute = kernel_dtype(table.text(row, "attn_dtype"));
  const auto kv = kernel_dtype(table.text(row, "kv_dtype"));
  if (!compute || !kv) return table.refuse(row, "unknown number format");
  result.shape.compute = *compute;
  result.shape.kv = *kv;
  result.prefill = table.text(row, "phase") == "context";
  PR_ASSIGN(const double past, table.number(row, "past_kv_step"));
  PR_ASSIGN(const double fresh, table.number(row, "isl_new_tokens"));
  if (!(fresh > 0) || !(past >= 0)) return table.refuse(row, "isl_new_tokens must be above 0, past_kv_step at least 0");
  result.tokens = result.prefill ? fresh : past + 1;
  return result;
}

bool calibrated(const AttentionRow& row, const KernelModel& kernels) {
  const auto tables = operators::calibration_tables();
  if (!tables || kernels.gpu() != "H100") return false;
  const AttentionShape& s = row.shape;
  const auto size = static_cast<double>(s.head_size);
  const double rows = row.batch * static_cast<double>(row.prefill ? s.query_heads : s.kv_heads);
  const operators::AttentionTables& held = (*tables)->attention;
  return row.prefill ? operators::holds_prefill(held, s.compute, s.kv, size, row.group(), rows, row.tokens)
                     : operators::holds_decode(held, s.kv, size, row.group(), rows, row.tokens);
}

const char* size_regime(double bytes) {
  return bytes < 1 << 20 ? "below 1 MiB" : bytes < 1 << 26 ? "1 to 64 MiB" : "64 MiB and more";
}

struct Message {
  Collective kind = Collective::all_reduce;
  RankSpan span;
  CollectiveLibrary library = CollectiveLibrary::nccl;
  double bytes = 0;
};

const char* name_of(Collective kind) {
  switch (kind) {
    case Collective::all_reduce: return "all_reduce";
    case Collective::all_gather: return "all_gather";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::all_to_all: return "all_to_all";
    case Collective::send: return "send";
  }
  return "?";
}

Point collective_point(const Csv& table, std::size_t row, const KernelModel& kernels, const Message& message,
                       double measured_seconds) {
  Point point = kernel_point(table, row, kernels, name_of(message.kind));
  const bool across = message.span.per_domain < message.span.ranks;
  point.model = "(collective)";
  point.row.case_name = fmt::format("{} of {} ranks, {} in a domain, {} B", name_of(message.kind), message.span.ranks,
                                    message.span.per_domain, message.bytes);
  point.regime = fmt::format("collective {}, {}", across ? "across nodes" : "in a node", size_regime(message.bytes));
  compare_seconds(point, measured_seconds,
                  kernels.collective(message.kind, message.span, message.library).at(message.bytes));
  return point;
}

Result<Collective> collective_named(const Csv& table, std::size_t row, std::string_view text) {
  if (text == "alltoall") return Collective::all_to_all;
  for (const Collective kind : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    if (text == name_of(kind)) return kind;
  }
  return table.refuse(row, fmt::format("unknown collective \"{}\"", text));
}

// "32KiB" and "16GiB"; Azure's "65K" and "33M", which stand for powers of two. 0: none of these.
double bytes_of_label(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number > 0)) return 0;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::size_t power = unit.empty() ? std::string_view::npos : std::string_view("KMG").find(unit.front());
  if (power == std::string_view::npos) return 0;
  if (unit.substr(1) == "iB") return number * std::ldexp(1, 10 * (static_cast<int>(power) + 1));
  if (unit.size() > 1) return 0;
  return std::exp2(std::round(std::log2(number * std::pow(1000.0, static_cast<double>(power) + 1))));
}

// Seconds of an all-reduce from its bus bandwidth.
double from_bus(double bytes, std::int64_t ranks, double gigabytes) {
  const auto n = static_cast<double>(ranks);
  return bytes * 2 * (n - 1) / n / (gigabytes * 1e9);
}

}  // namespace

Result<std::vector<Point>> score_attention(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"gpu", "phase", "batch", "isl_new_tokens", "past_kv_step", "num_heads", "num_kv_heads",
                        "head_dim", "attn_dtype", "kv_dtype", "latency_us", "source"}));
  KernelShelf shelf(scoring.catalog);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PR_ASSIGN(const KernelModel* kernels, shelf.of(table.text(row, "gpu")));
    PR_ASSIGN(const AttentionRow a, attention_row(table, row));
    PR_ASSIGN(const double microseconds, table.number(row, "latency_us"));
    Point point = kernel_point(table, row, *kernels, a.prefill ? "prefill_attention" : "decode_attention");
    point.model = "(kernel)";
    point.row.case_name =
        fmt::format("{} x {} tokens, {}/{} heads of {}, cache {}", a.batch, a.tokens, a.shape.query_heads,
                    a.shape.kv_heads, a.shape.head_size, operators::name_of(a.shape.kv));
    point.regime = a.prefill ? "prefill attention" : "decode attention";
    if (calibrated(a, *kernels)) point.apart = kCalibrated;
    compare_seconds(point, microseconds * 1e-6,
                    a.prefill ? kernels->prefill_attention(a.shape).at(a.batch, a.tokens, 0)
                              : kernels->decode_attention(a.shape).at(a.batch, a.tokens));
    points.push_back(std::move(point));
  }
  return points;
}

Result<std::vector<Point>> score_nccl(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"gpu", "collective", "dtype", "num_gpus", "message_bytes", "latency_us", "source"}));
  KernelShelf shelf(scoring.catalog);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PR_ASSIGN(const KernelModel* kernels, shelf.of(table.text(row, "gpu")));
    Message message;
    PR_ASSIGN(message.kind, collective_named(table, row, table.text(row, "collective")));
    PR_ASSIGN(message.span.ranks, count_of(table, row, "num_gpus"));
    message.span.per_domain = message.span.ranks;
    PR_ASSIGN(message.bytes, table.number(row, "message_bytes"));
    PR_ASSIGN(const double microseconds, table.number(row, "latency_us"));
    points.push_back(collective_point(table, row, *kernels, message, microseconds * 1e-6));
    if (table.text(row, "dtype") == "half") points.back().apart = kCalibrated;
  }
  return points;
}

Result<std::vector<Point>> score_azure_all_reduce(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"gpu", "num_gpus", "message_size_label_bytes", "busbw_GBps", "source"}));
  KernelShelf shelf(scoring.catalog);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PR_ASSIGN(const KernelModel* kernels, shelf.of(table.text(row, "gpu")));
    Message message;
    PR_ASSIGN(message.span.ranks, count_of(table, row, "num_gpus"));
    message.span.per_domain = message.span.ranks;
    message.bytes = bytes_of_label(table.text(row, "message_size_label_bytes"));
    PR_ASSIGN(const double bus, table.number(row, "busbw_GBps"));
    if (!(message.bytes > 0) || !(bus > 0))
      return table.refuse(row, "a size such as 32K and a rate above 0 are needed");
    points.push_back(collective_point(table, row, *kernels, message, from_bus(message.bytes, message.span.ranks, bus)));
    if (kernels->gpu() == "A100") points.back().apart = kCalibrated;
  }
  return points;
}

Result<std::vector<Point>> score_multinode(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"setup", "op", "ranks", "payload", "busbw_GBps", "source"}));
  KernelShelf shelf(scoring.catalog);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!table.text(row, "setup").starts_with("B200 ") || table.text(row, "op") != "all_reduce") continue;
    PR_ASSIGN(const KernelModel* kernels, shelf.of("B200"));
    Message message;
    PR_ASSIGN(message.span.ranks, count_of(table, row, "ranks"));
    message.span.per_domain = 8;
    message.bytes = bytes_of_label(table.text(row, "payload"));
    PR_ASSIGN(const double bus, table.number(row, "busbw_GBps"));
    if (!(message.bytes > 0) || !(bus > 0))
      return table.refuse(row, "a size such as 32KiB and a rate above 0 are needed");
    points.push_back(collective_point(table, row, *kernels, message, from_bus(message.bytes, message.span.ranks, bus)));
    if (message.span.ranks > 8 && message.bytes >= 16.0 * (1 << 30)) points.back().apart = kCalibrated;
  }
  return points;
}

Result<std::vector<Point>> score_vidur_network(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require(
      {"cluster", "op", "num_workers", "devices_per_node", "size_bytes_as_listed", "median_ms", "source"}));
  KernelShelf shelf(scoring.catalog);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& cluster = table.text(row, "cluster");
    if (table.text(row, "num_workers") != table.text(row, "devices_per_node")) continue;
    PR_ASSIGN(const KernelModel* kernels, shelf.of(cluster.substr(0, cluster.find('_'))));
    Message message;
    const bool send = table.text(row, "op") == "send_recv";
    message.kind = send ? Collective::send : Collective::all_reduce;
    PR_ASSIGN(message.span.ranks, count_of(table, row, "num_workers"));
    message.span.per_domain = message.span.ranks;
    PR_ASSIGN(message.bytes, table.number(row, "size_bytes_as_listed"));
    PR_ASSIGN(const double milliseconds, table.number(row, "median_ms"));
    points.push_back(collective_point(table, row, *kernels, message, milliseconds * 1e-3));
    if (send) points.back().apart = kCalibrated;
  }
  return points;
}

}  // namespace photonrail::validation

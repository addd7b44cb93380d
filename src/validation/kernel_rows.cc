// Kernel tables beside the calibrated kernels: the error per operator, so that errors which cancel in a whole run show
// (run it with `validate --data` on the folder of the kernel tables). Points that calibration/*.csv holds are scored
// apart: there ours is the measurement.
//
// Every row names GPU, format and shape, so nothing is assumed beyond how the activations arrive: the AIConfigurator
// tables quantise them within the measured time (Operands::unquantised), the Azure tables multiply fp8 matrices.
// A100 has no grid, but a factor by rows from three of these tables: their rows of A100 are scored apart as well.
#include <fmt/format.h>

#include <array>

#include "validation/kernel_rows.h"
#include "validation/scorers.h"

namespace photonrail::validation {
namespace {

using operators::Dtype;
using operators::KernelModel;
using operators::KernelTime;
using operators::Operands;

const char* regime_of(double rows) {
  return rows <= 64 ? "up to 64 rows" : rows <= 1024 ? "65 to 1,024 rows" : "more than 1,024 rows";
}

Result<std::array<double, 3>> shape_of(const Csv& table, std::size_t row) {
  PR_ASSIGN(const double m, table.number(row, "m"));
  PR_ASSIGN(const double n, table.number(row, "n"));
  PR_ASSIGN(const double k, table.number(row, "k"));
  if (!(m > 0) || !(n > 0) || !(k > 0)) return table.refuse(row, "m, n and k must be above 0");
  return std::array<double, 3>{m, n, k};
}

struct MeasuredGemm {
  const char* gpu_column;
  Operands operands;
  double (*seconds)(double value, double flops);
  const char* value_column;
  bool calibrates_a100;
};

Result<std::vector<Point>> score_products(const Csv& table, const Scoring& scoring, const MeasuredGemm& form) {
  PR_TRY(table.require({form.gpu_column, "dtype", "m", "n", "k", form.value_column, "source"}));
  KernelShelf shelf(scoring.catalog);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const Result<const KernelModel*> kernels = shelf.of(table.text(row, form.gpu_column));
    if (!kernels) continue;  // a GPU that is not in the catalog
    PR_ASSIGN(const auto shape, shape_of(table, row));
    const Result<Dtype> dtype = kernel_dtype(table.text(row, "dtype"));
    if (!dtype) return table.refuse(row, dtype.error().message);
    PR_ASSIGN(const double value, table.number(row, form.value_column));
    Point point = kernel_point(table, row, **kernels, "product");
    point.row.case_name = fmt::format("{} {} x {} x {}", operators::name_of(*dtype), shape[0], shape[1], shape[2]);
    point.model = "(kernel)";
    point.regime = fmt::format("{} product, {}", operators::name_of(*dtype), regime_of(shape[0]));
    const bool on_grid = (*kernels)->gemm_is_grid_point(shape[0], shape[1], shape[2], *dtype);
    if (on_grid || (form.calibrates_a100 && (*kernels)->gpu() == "A100")) point.apart = kCalibrated;
    compare_seconds(point, form.seconds(value, 2 * shape[0] * shape[1] * shape[2]),
                    (*kernels)->gemm_time(shape[0], shape[1], shape[2], *dtype, form.operands));
    points.push_back(std::move(point));
  }
  return points;
}

// One operator of a layer of Llama-2-70B as Vidur timed it; tp ranks share the wide side.
struct LayerOperator {
  const char* column;
  double n;
  double k;
  bool wide_n;  // n is divided by tp, else k
};
constexpr LayerOperator kLayerProducts[] = {{"attn_pre_proj_ms", 10240, 8192, true},
                                            {"attn_post_proj_ms", 8192, 8192, false},
                                            {"mlp_up_proj_ms", 57344, 8192, true},
                                            {"mlp_down_proj_ms", 8192, 28672, false}};

}  // namespace

Result<const KernelModel*> KernelShelf::of(const std::string& gpu) {
  const auto known = kernels_.find(gpu);
  if (known != kernels_.end()) return &known->second;
  PR_ASSIGN(const catalog::Gpu entry, catalog_.gpu(gpu));
  PR_ASSIGN(KernelModel model, KernelModel::make(entry));
  return &kernels_.emplace(gpu, std::move(model)).first->second;
}

Result<Dtype> kernel_dtype(std::string_view text) {
  if (text == "bfloat16" || text == "fp16" || text == "see source") return Dtype::bf16;
  for (int i = 0; i < operators::kDtypes; ++i) {
    if (text == operators::name_of(static_cast<Dtype>(i))) return static_cast<Dtype>(i);
  }
  return fail(ErrorCode::invalid_input, fmt::format("unknown number format \"{}\"", text));
}

Point kernel_point(const Csv& table, std::size_t row, const KernelModel& kernels, std::string_view operation) {
  Point point;
  point.row.id = point_id(table, row);
  point.row.quantity = operation;
  point.row.unit = "us";
  point.row.source = table.text(row, "source");
  point.gpu = kernels.gpu();
  return point;
}

void compare_seconds(Point& point, double measured_seconds, const KernelTime& ours) {
  point.row.published = measured_seconds * 1e6;
  point.row.ours = ours.seconds * 1e6;
  point.basis = ours.basis;
  model::set_relative_error(point.row);
}

Result<std::vector<Point>> score_gemm(const Csv& table, const Scoring& scoring) {
  const auto seconds = [](double microseconds, double) { return microseconds * 1e-6; };
  return score_products(table, scoring, {"gpu", Operands::unquantised, seconds, "latency_us", false});
}

Result<std::vector<Point>> score_azure_gemm(const Csv& table, const Scoring& scoring) {
  const auto seconds = [](double tera, double flops) { return flops / tera * 1e-12; };
  return score_products(table, scoring, {"gpu", Operands::prepared, seconds, "tflops", true});
}

Result<std::vector<Point>> score_llmcompass_gemm(const Csv& table, const Scoring& scoring) {
  const auto seconds = [](double milliseconds, double) { return milliseconds * 1e-3; };
  return score_products(table, scoring, {"device", Operands::prepared, seconds, "latency_ms", true});
}

Result<std::vector<Point>> score_layer_operators(const Csv& table, const Scoring& scoring) {
  PR_TRY(table.require({"gpu", "num_tokens", "tp", "mlp_act_ms", "add_ms", "input_norm_ms", "source"}));
  KernelShelf shelf(scoring.catalog);
  std::vector<Point> points;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PR_ASSIGN(const KernelModel* kernels, shelf.of(table.text(row, "gpu")));
    PR_ASSIGN(const double tokens, table.number(row, "num_tokens"));
    PR_ASSIGN(const double tp, table.number(row, "tp"));
    if (!(tokens > 0) || !(tp > 0)) return table.refuse(row, "num_tokens and tp must be above 0");
    const auto add = [&](const char* column, const char* regime, const KernelTime& ours, bool product) -> Status {
      PR_ASSIGN(const double milliseconds, table.number(row, column));
      Point point = kernel_point(table, row, *kernels, column);
      point.model = "Llama-2-70B";
      point.row.case_name = fmt::format("{} tokens, tensor parallel {}", tokens, tp);
      point.regime = fmt::format("{}, {}", regime, regime_of(tokens));
      if (product && kernels->gpu() == "A100") point.apart = kCalibrated;
      compare_seconds(point, milliseconds * 1e-3, ours);
      points.push_back(std::move(point));
      return {};
    };
    for (const LayerOperator& op : kLayerProducts) {
      const double n = op.wide_n ? op.n / tp : op.n;
      const double k = op.wide_n ? op.k : op.k / tp;
      PR_TRY(add(op.column, "bf16 product of a layer", kernels->gemm_time(tokens, n, k, Dtype::bf16), true));
    }
    // Traffic in bf16: the activation reads two rows of the feed-forward size and writes one, so does a sum.
    PR_TRY(add("mlp_act_ms", "activation", kernels->pointwise_time(tokens * 3 * 28672 / tp * 2, 1), false));
    PR_TRY(add("add_ms", "residual sum", kernels->pointwise_time(tokens * 3 * 8192 * 2, 1), false));
    PR_TRY(add("input_norm_ms", "norm", kernels->pointwise_time(tokens * 2 * 8192 * 2, 1), false));
  }
  return points;
}

}  // namespace photonrail::validation

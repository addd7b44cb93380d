#include "operators/kernel_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "operators/gemm_residual.h"

namespace photonrail::operators {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The GPU whose tables serve: its own; else of the same chip or generation; else by the formats that it has.
struct Tables {
  const char* gpu;
  bool own;
};
Tables tables_for(const catalog::Gpu& gpu) {
  const std::string name = lower(gpu.name);
  for (const char* own : {"h100", "h200", "b200", "gb200", "a100"}) {
    if (name == own) return {own, true};
  }
  // The chip of H100 with faster memory.
  if (name == "gh200") return {"h100", true};
  if (name == "b300") return {"b200", false};
  if (name == "gb300") return {"gb200", false};
  if (gpu.fp4.known()) return {"b200", false};
  if (gpu.fp8.known()) return {"h100", false};
  return {"a100", false};
}

double rate_of(const catalog::Figure<FlopRate>& figure) { return figure.known() ? catalog::range_of(figure).base : 0; }

Result<double> bytes_rate(const catalog::Gpu& gpu, const catalog::Figure<Rate>& figure, const char* what) {
  if (!figure.known())
    return fail(ErrorCode::invalid_input,
                fmt::format("GPU {}: its {} is unknown ({}); give it in a catalog file of your own (--catalog DIR)",
                            gpu.name, what, figure.unknown));
  return catalog::range_of(figure).base / 8;
}

std::array<double, kDtypes> peaks_of(const catalog::Gpu& gpu) {
  std::array<double, kDtypes> peak{};
  const auto at = [&](Dtype dtype) -> double& { return peak[static_cast<std::size_t>(dtype)]; };
  at(Dtype::fp32) = rate_of(gpu.fp32);
  at(Dtype::bf16) = rate_of(gpu.bf16);
  at(Dtype::fp8) = rate_of(gpu.fp8);
  at(Dtype::fp8_block) = rate_of(gpu.fp8);
  at(Dtype::nvfp4) = rate_of(gpu.fp4);
  at(Dtype::int8) = rate_of(gpu.int8);
  at(Dtype::int4) = rate_of(gpu.bf16);
  return peak;
}

// Shares of the peak that the best product reaches, this GPU over the one that lends its tables; 1 where unknown.
double peak_share(const catalog::Gpu& gpu, const MeasuredGpu& lender) {
  if (!gpu.achievable_bf16.known() || !gpu.bf16.known()) return 1;
  return catalog::range_of(gpu.achievable_bf16).base / catalog::range_of(gpu.bf16).base / lender.best_bf16;
}

}  // namespace

Result<KernelModel> KernelModel::make(const catalog::Gpu& gpu) {
  KernelModel model;
  PR_ASSIGN(model.tables_, calibration_tables());
  const Tables tables = tables_for(gpu);
  model.own_ = &model.tables_->of(tables.gpu);
  model.gpu_ = gpu.name;
  model.rates_.peak = peaks_of(gpu);
  if (model.rates_.peak[static_cast<std::size_t>(Dtype::bf16)] <= 0)
    return fail(ErrorCode::invalid_input, fmt::format("GPU {}: its bf16 peak is unknown", gpu.name));
  PR_ASSIGN(model.rates_.memory, bytes_rate(gpu, gpu.memory_rate, "memory rate"));
  PR_ASSIGN(model.rates_.scale_up, bytes_rate(gpu, gpu.scale_up_rate, "scale-up rate"));
  PR_ASSIGN(model.rates_.network, bytes_rate(gpu, gpu.nic_rate, "NIC rate"));
  if (!gpu.memory.known())
    return fail(ErrorCode::invalid_input, fmt::format("GPU {}: its memory capacity is unknown", gpu.name));
  model.rates_.memory_bytes = catalog::range_of(gpu.memory).base;
  if (!tables.own) {
    model.basis_ = Basis::carried_over;
    model.peak_share_ = peak_share(gpu, model.own_->measured);
  }
  return model;
}

KernelModel KernelModel::with_memory_rate(Rate memory) const {
  KernelModel other = *this;
  other.rates_.memory = bytes_per_second(memory);
  other.basis_ = Basis::carried_over;
  return other;
}

KernelModel KernelModel::with_network_rate(Rate per_gpu_and_direction) const {
  KernelModel other = *this;
  other.rates_.network = bytes_per_second(per_gpu_and_direction);
  return other;
}

std::string KernelModel::provenance() const {
  const char* how = basis_ == Basis::measured ? "measured" : "carried over at the rates of this GPU";
  std::string text = fmt::format("matrix products and memory-bound kernels: tables of {}, {}", own_->gpu, how);
  if (own_->gpu == "a100") text += " (residuals of H100 with a factor by rows)";
  const bool h100 = own_->gpu == "h100" && basis_ == Basis::measured;
  text += fmt::format("; attention: tables of h100, {}", h100 ? "measured" : "carried over at the rates of this GPU");
  text += "; collectives: tables by ranks and bytes inside a scale-up domain, a rule with measured constants across";
  return text;
}

KernelModel::Format KernelModel::format_of(Dtype dtype, Operands operands) const {
  const auto index = [](Dtype d) { return static_cast<std::size_t>(d); };
  Format format;
  format.basis = basis_;
  format.form = operands == Operands::prepared ? 0 : 1;
  double peak = rates_.peak[index(dtype)];
  double a_bytes = bytes_of(dtype);
  Dtype table = dtype;
  const auto lend = [&](Dtype of) {
    table = of;
    format.basis = Basis::assumed;
  };
  // Weights in a format that the GPU does not compute in are expanded on the fly, activations stay bf16.
  if (peak <= 0 || dtype == Dtype::int4) {
    lend(Dtype::bf16);
    peak = rates_.peak[index(Dtype::bf16)];
    a_bytes = bytes_of(Dtype::bf16);
  } else if (dtype == Dtype::fp32) {
    lend(Dtype::bf16);
  } else if (!own_->gemm[index(dtype)]) {
    lend(own_->gemm[index(Dtype::fp8)] ? Dtype::fp8 : Dtype::bf16);
  }
  format.table = &*own_->gemm[index(table)];
  format.scale = gemm_scale(peak * peak_share_, rates_.memory, a_bytes, bytes_of(dtype));
  return format;
}

GemmCurve KernelModel::gemm(std::int64_t n, std::int64_t k, Dtype dtype, Operands operands) const {
  const Format format = format_of(dtype, operands);
  const GemmTable& table = *format.table;
  const GemmTable::Form& form = table.forms[format.form];
  GemmCurve curve;
  curve.n_ = static_cast<double>(n);
  curve.k_ = static_cast<double>(k);
  curve.scale_ = format.scale;
  curve.floor_ = form.floor;
  curve.rows_ = &table.m;
  curve.basis_ = format.basis;
  if (outside(table.n, curve.n_) || outside(table.k, curve.k_)) curve.basis_ = std::max(curve.basis_, Basis::extended);
  const Place column = place_on(table.n, curve.n_);
  const Place depth = place_on(table.k, curve.k_);
  curve.last_m_ = last_m(table, column, depth);
  for (std::size_t i = 0; i < static_cast<std::size_t>(table.m.size); ++i)
    curve.residual_[i] = static_cast<float>(at_shape(form.residual, table, column, depth, i));
  return curve;
}

KernelTime KernelModel::gemm_time(double m, double n, double k, Dtype dtype, Operands operands) const {
  const Format format = format_of(dtype, operands);
  if (!(m > 0) || !(n > 0) || !(k > 0)) return {0, format.basis};
  const GemmTable& table = *format.table;
  const GemmTable::Form& form = table.forms[format.form];
  const Place row = place_on(table.m, m);
  const Place column = place_on(table.n, n);
  const Place depth = place_on(table.k, k);
  const double residual = interpolate(at_shape(form.residual, table, column, depth, row.at),
                                      at_shape(form.residual, table, column, depth, row.at + 1), row.share);
  const double seconds = std::exp(residual) * format.scale.roofline(m, n, k) + form.floor;
  const bool beyond = outside(table.n, n) || outside(table.k, k) || m > last_m(table, column, depth);
  return {seconds, beyond ? std::max(format.basis, Basis::extended) : format.basis};
}

bool KernelModel::gemm_is_grid_point(double m, double n, double k, Dtype dtype) const {
  const auto& table = own_->gemm[static_cast<std::size_t>(dtype)];
  if (!table || basis_ != Basis::measured || own_->gpu == "a100") return false;
  const auto on = [](const Axis& axis, double x) {
    return std::find(axis.value.begin(), axis.value.end(), x) != axis.value.end();
  };
  return on(table->m, m) && on(table->n, n) && on(table->k, k);
}

GroupedGemmCurve KernelModel::grouped_gemm(std::int64_t experts, std::int64_t n, std::int64_t k, Dtype dtype,
                                           Operands operands) const {
  const Format format = format_of(dtype, operands);
  const GemmTable& table = *format.table;
  const GemmTable::Form& form = table.forms[format.form];
  GroupedGemmCurve curve;
  curve.experts_ = static_cast<double>(experts);
  curve.n_ = static_cast<double>(n);
  curve.k_ = static_cast<double>(k);
  curve.scale_ = format.scale;
  curve.floor_ = form.floor;
  curve.table_ = &table;
  const Place depth = place_on(table.k, curve.k_);
  for (std::size_t column = 0; column < static_cast<std::size_t>(table.n.size); ++column) {
    const Place at = column == 0 ? Place{0, 0} : Place{column - 1, 1};
    for (std::size_t row = 0; row < static_cast<std::size_t>(table.m.size); ++row)
      curve.residual_[column][row] = static_cast<float>(at_shape(form.residual, table, at, depth, row));
  }
  return curve;
}

KernelTime KernelModel::pointwise_time(double bytes, double kernels) const {
  const MeasuredGpu& measured = own_->measured;
  return {kernels * measured.launch + bytes / (measured.streaming * rates_.memory), basis_};
}

}  // namespace photonrail::operators

#include "operators/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "operators/kernel_model.h"
#include "operators/tables.h"

namespace photonrail::operators {
namespace {

constexpr double kLatentComputeShare = 0.66;  // attention.h: FlashMLA on H800
constexpr double kLatentMemoryShare = 0.89;
constexpr const char* kAttentionGpu = "h100";  // that the tables were measured on
constexpr int kWidestTile = 32;                // query heads that one tile of the grouped kernel holds
constexpr int kUngrouped = 64;                 // the table of the kernel that works query head by query head
constexpr int kSmallestHead = 64;
constexpr int kLargestHead = 256;  // beyond, attention is taken to be latent

// Below: node and how far towards the next, in the measure of the axis. Never negative; x may lie beyond the axis.
struct Place {
  int node = 0;
  double share = 0;
};

// Axis 1, 2, 4, ...
Place octave(double x, int nodes) {
  if (x <= 1) return {0, 0};
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52) - 1023;
  const int node = std::min(exponent, nodes - 2);
  const double low = std::bit_cast<double>(static_cast<std::uint64_t>(node + 1023) << 52);
  return {node, x / low - 1};
}

// Axis 1, 1.5, 2, 3, 4, ...
Place half_octave(double x, int nodes, double& low, double& high) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52) - 1023;
  const int half = static_cast<int>(bits >> 51) & 1;
  const int node = std::min(2 * exponent + half, nodes - 2);
  const double base = std::bit_cast<double>(static_cast<std::uint64_t>(node / 2 + 1023) << 52);
  low = node % 2 ? 1.5 * base : base;
  high = node % 2 ? 2 * base : 1.5 * base;
  return {node, 0};
}

Place place_of_rows(double rows) {
  if (rows <= 1) return {0, 0};
  double low = 0;
  double high = 0;
  Place place = half_octave(rows, DecodeGrid::kRows, low, high);
  place.share = (rows - low) / (high - low);
  return place;
}

// Contexts 2, 64, 128, ...
Place place_of_context(double context) {
  if (context < 64) return {0, std::max(context - 2, 0.0) / 62};
  Place place = octave(context / 64, DecodeGrid::kContexts - 1);
  ++place.node;
  return place;
}

// Lengths 16, 24, 32, ...; straight in the square.
Place place_of_length(double length) {
  if (length <= 16) return {0, 0};
  double low = 0;
  double high = 0;
  const double x = length / 16;
  Place place = half_octave(x, PrefillGrid::kLengths, low, high);
  place.share = (x * x - low * low) / (high * high - low * low);
  return place;
}

template <class Grid>
double mixed(const Grid& grid, const Place& row, const Place& column) {
  const double low =
      grid.at(row.node, column.node) +
      column.share * static_cast<double>(grid.at(row.node, column.node + 1) - grid.at(row.node, column.node));
  const double high =
      grid.at(row.node + 1, column.node) +
      column.share * static_cast<double>(grid.at(row.node + 1, column.node + 1) - grid.at(row.node + 1, column.node));
  return low + row.share * (high - low);
}

template <class Grid>
Basis basis_at(const Grid& grid, const Place& row, const Place& column, Basis basis) {
  const auto inside = [&](int node) {
    return column.node + (column.share > 0 ? 1 : 0) < grid.measured[static_cast<std::size_t>(node)];
  };
  const bool measured =
      row.share <= 1 && column.share <= 1 && inside(row.node) && (row.share == 0 || inside(row.node + 1));
  return measured ? basis : std::max(basis, Basis::extended);
}

template <class Grid>
Grid blend(const Grid& a, const Grid& b, double share) {
  Grid grid = a;
  for (std::size_t i = 0; i < grid.seconds.size(); ++i)
    grid.seconds[i] = static_cast<float>(a.seconds[i] + share * static_cast<double>(b.seconds[i] - a.seconds[i]));
  for (std::size_t i = 0; i < grid.measured.size(); ++i) grid.measured[i] = std::min(a.measured[i], b.measured[i]);
  return grid;
}

// The neighbours of x among ascending values and the weight of the second; the edge beyond them.
struct Neighbours {
  std::size_t low = 0;
  std::size_t high = 0;
  double share = 0;
};
Neighbours neighbours(const std::vector<int>& values, double x) {
  PR_CHECK(!values.empty(), "an attention table without entries");
  if (x <= values.front()) return {0, 0, 0};
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (x == values[i]) return {i, i, 0};
    if (x < values[i]) return {i - 1, i, (x - values[i - 1]) / static_cast<double>(values[i] - values[i - 1])};
  }
  return {values.size() - 1, values.size() - 1, 0};
}

// Distinct values of one field over the tables that `wanted` selects, ascending.
template <class Table, class Wanted, class Field>
std::vector<int> values_of(const std::vector<Table>& tables, const Wanted& wanted, const Field& field) {
  std::vector<int> values;
  for (const Table& table : tables) {
    if (wanted(table)) values.push_back(field(table));
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

double value_size(const AttentionShape& shape) {
  return static_cast<double>(shape.value_size > 0 ? shape.value_size : shape.head_size);
}

bool eight_bits(Dtype dtype) { return bytes_of(dtype) < 1.5; }

// Adds seconds for each row and token. Fast memory takes no more away than leaves the quickest launch.
void add_work(DecodeGrid& grid, double seconds_per_token) {
  const double least = grid.at(0, 0);
  for (int row = 0; row < DecodeGrid::kRows; ++row) {
    for (int context = 0; context < DecodeGrid::kContexts; ++context) {
      float& seconds = grid.at(row, context);
      const double moved = seconds + seconds_per_token * DecodeGrid::rows(row) * DecodeGrid::context(context);
      seconds = static_cast<float>(std::max(moved, std::min<double>(seconds, least)));
    }
  }
}

// The latency of one row, and work of its own. Beyond 4096 tokens one row is no longer latency alone.
void make_latent(DecodeGrid& grid, double seconds_per_token) {
  constexpr int kLastLatency = 7;
  const DecodeGrid grouped = grid;
  for (int row = 0; row < DecodeGrid::kRows; ++row) {
    for (int context = 0; context < DecodeGrid::kContexts; ++context) {
      const double work = seconds_per_token * DecodeGrid::rows(row) * DecodeGrid::context(context);
      grid.at(row, context) = static_cast<float>(grouped.at(0, std::min(context, kLastLatency)) + work);
    }
  }
}

// Blocks whose instructions, not reading, take the time: `slower` on this GPU, at least `seconds_per_token` for a row.
void block_work(DecodeGrid& grid, double slower, double seconds_per_token) {
  for (int row = 0; row < DecodeGrid::kRows; ++row) {
    for (int context = 0; context < DecodeGrid::kContexts; ++context) {
      float& seconds = grid.at(row, context);
      const double read = seconds_per_token * DecodeGrid::rows(row) * DecodeGrid::context(context);
      seconds = static_cast<float>(std::max(seconds * slower, read));
    }
  }
}

// Decoding tables of one cache format and head size, mixed for a group.
DecodeGrid decode_group(const std::vector<DecodeTable>& tables, Dtype kv, int head_size, double group) {
  const auto here = [&](const DecodeTable& t) { return t.kv == kv && t.head_size == head_size; };
  const auto grid = [&](int g) -> const DecodeGrid& {
    const auto at =
        std::find_if(tables.begin(), tables.end(), [&](const DecodeTable& t) { return here(t) && t.group == g; });
    PR_CHECK(at != tables.end(), "an attention table that was listed");
    return at->grid;
  };
  const std::vector<int> groups = values_of(tables, here, [](const DecodeTable& t) { return t.group; });
  if (group > kWidestTile && groups.back() == kUngrouped) return grid(kUngrouped);
  // Beyond 16 heads the tile of 32 serves whole.
  const double tile = group > 16 ? std::max<double>(group, kWidestTile) : group;
  const Neighbours at = neighbours(groups, std::min<double>(tile, kWidestTile));
  return blend(grid(groups[at.low]), grid(groups[at.high]), at.share);
}

DecodeGrid decode_grid(const AttentionTables& tables, Dtype kv, double head_size, double group) {
  const auto here = [&](const DecodeTable& t) { return t.kv == kv; };
  const std::vector<int> sizes = values_of(tables.decode, here, [](const DecodeTable& t) { return t.head_size; });
  const Neighbours at = neighbours(sizes, head_size);
  const DecodeGrid low = decode_group(tables.decode, kv, sizes[at.low], group);
  return at.share == 0 ? low : blend(low, decode_group(tables.decode, kv, sizes[at.high], group), at.share);
}

PrefillGrid prefill_group(const std::vector<PrefillTable>& tables, Dtype compute, Dtype kv, int head_size,
                          double group) {
  const auto here = [&](const PrefillTable& t) {
    return t.compute == compute && t.kv == kv && t.head_size == head_size;
  };
  const auto grid = [&](int g) -> const PrefillGrid& {
    const auto at =
        std::find_if(tables.begin(), tables.end(), [&](const PrefillTable& t) { return here(t) && t.group == g; });
    PR_CHECK(at != tables.end(), "an attention table that was listed");
    return at->grid;
  };
  const std::vector<int> groups = values_of(tables, here, [](const PrefillTable& t) { return t.group; });
  Neighbours at = neighbours(groups, group);
  // The traffic of keys and values goes with 1 / group.
  if (at.share > 0) at.share = (1 / group - 1.0 / groups[at.low]) / (1.0 / groups[at.high] - 1.0 / groups[at.low]);
  return blend(grid(groups[at.low]), grid(groups[at.high]), at.share);
}

PrefillGrid prefill_grid(const AttentionTables& tables, Dtype compute, Dtype kv, double head_size, double group) {
  const auto here = [&](const PrefillTable& t) { return t.compute == compute && t.kv == kv; };
  const std::vector<int> sizes = values_of(tables.prefill, here, [](const PrefillTable& t) { return t.head_size; });
  const Neighbours at = neighbours(sizes, head_size);
  const PrefillGrid low = prefill_group(tables.prefill, compute, kv, sizes[at.low], group);
  return at.share == 0 ? low : blend(low, prefill_group(tables.prefill, compute, kv, sizes[at.high], group), at.share);
}

}  // namespace

KernelTime PrefillAttentionCurve::at(double sequences, double tokens, double past) const {
  if (!(sequences > 0) || !(tokens > 0)) return {0, basis_};
  const double span = 2 * past + tokens;
  const double rows = sequences * query_heads_ * tokens / span;
  const double length = rows >= 1 ? span : rows * span + (1 - rows) * (past + tokens);
  const Place row = octave(rows, PrefillGrid::kRows);
  const Place column = place_of_length(length);
  return {mixed(grid_, row, column),
          basis_at(grid_, row, column, past > 0 ? std::max(basis_, Basis::extended) : basis_)};
}

double PrefillAttentionCurve::flops(double sequences, double tokens, double past) const {
  return 2 * sequences * tokens * (past + tokens / 2) * query_heads_ * sizes_;
}

KernelTime DecodeAttentionCurve::at(double sequences, double context) const {
  if (!(sequences > 0)) return {0, basis_};
  const Place row = place_of_rows(sequences * rows_per_sequence_);
  const Place column = place_of_context(context);
  return {mixed(grid_, row, column), basis_at(grid_, row, column, basis_)};
}

double DecodeAttentionCurve::flops(double sequences, double context) const {
  return sequences * context * flops_per_token_;
}

double DecodeAttentionCurve::bytes(double sequences, double context) const {
  return sequences * context * bytes_per_token_;
}

// Instructions per second of the GPU that the tables are of, over those of this one: lanes x clock, by lanes of an SM.
double KernelModel::slower_issue() const {
  constexpr double kLenderFp32 = 67e12;  // catalog/gpus.toml
  const double peak = rates_.peak[static_cast<std::size_t>(Dtype::fp32)];
  return peak > 0 ? kLenderFp32 / (own_->gpu == "a100" ? 2 * peak : peak) : 1;
}

DecodeAttentionCurve KernelModel::decode_attention(const AttentionShape& shape) const {
  PR_CHECK(shape.query_heads > 0 && shape.kv_heads > 0 && shape.head_size > 0, "attention without heads");
  const auto heads = static_cast<double>(shape.query_heads);
  const auto kv_heads = static_cast<double>(shape.kv_heads);
  const auto size = static_cast<double>(shape.head_size);
  const double value = value_size(shape);
  const bool latent = shape.kv_heads == 1 && shape.head_size > kLargestHead;
  const double group = std::max(heads / kv_heads, 1.0);
  const Dtype table_kv = eight_bits(shape.kv) ? Dtype::fp8 : Dtype::bf16;

  DecodeAttentionCurve curve;
  curve.rows_per_sequence_ = kv_heads;
  curve.flops_per_token_ = 2 * heads * (size + value);
  // A latent cache holds one vector, of which the values are a part.
  const double per_row = bytes_of(shape.kv) * (latent ? size : size + value);
  curve.bytes_per_token_ = kv_heads * per_row;
  curve.basis_ = own_->gpu == kAttentionGpu ? basis_ : std::max(basis_, Basis::carried_over);
  if (bytes_of(table_kv) != bytes_of(shape.kv)) curve.basis_ = Basis::assumed;

  if (latent) {
    curve.basis_ = Basis::assumed;
    curve.grid_ = decode_grid(tables_->attention, table_kv, 128, 16);
    double peak = rates_.peak[static_cast<std::size_t>(shape.compute)];
    if (peak <= 0) peak = rates_.peak[static_cast<std::size_t>(Dtype::bf16)];
    make_latent(curve.grid_, std::max(curve.flops_per_token_ / (kLatentComputeShare * peak),
                                      per_row / (kLatentMemoryShare * rates_.memory)));
    return curve;
  }

  const bool by_query_head = shape.by_query_head && shape.query_heads > shape.kv_heads;
  curve.grid_ = decode_grid(tables_->attention, table_kv, size, by_query_head ? kUngrouped : group);
  if (shape.head_size > kLargestHead || shape.head_size < kSmallestHead)
    curve.basis_ = std::max(curve.basis_, Basis::extended);
  // Query head by query head: twice the group is twice the rows, each with less of the cache.
  const double rows_per_head = by_query_head || group > kWidestTile ? group / kUngrouped : 1;
  curve.rows_per_sequence_ *= rows_per_head;
  const MeasuredGpu& lender = tables_->of(kAttentionGpu).measured;
  const double measured_row = 2 * bytes_of(table_kv) * std::clamp<double>(size, kSmallestHead, kLargestHead);
  const double read_rate = tables_->attention.read_rate;
  const double own_rate = read_rate * own_->measured.streaming / lender.streaming * rates_.memory / lender.memory;
  if (by_query_head) {
    curve.basis_ = std::max(curve.basis_, Basis::extended);
    block_work(curve.grid_, slower_issue(), per_row / own_rate / rows_per_head);
    return curve;
  }
  add_work(curve.grid_, (per_row / own_rate - measured_row / read_rate) / rows_per_head);
  return curve;
}

PrefillAttentionCurve KernelModel::prefill_attention(const AttentionShape& shape) const {
  PR_CHECK(shape.query_heads > 0 && shape.kv_heads > 0 && shape.head_size > 0, "attention without heads");
  const auto size = static_cast<double>(shape.head_size);
  const double value = value_size(shape);
  const double group = std::max(static_cast<double>(shape.query_heads) / static_cast<double>(shape.kv_heads), 1.0);
  const MeasuredGpu& lender = tables_->of(kAttentionGpu).measured;
  const double peak_bf16 = rates_.peak[static_cast<std::size_t>(Dtype::bf16)];
  const double peak_fp8 = rates_.peak[static_cast<std::size_t>(Dtype::fp8)];
  // The measured engine multiplies in fp8 as soon as the cache is fp8, which a GPU without fp8 cannot.
  const bool fp8_cache = eight_bits(shape.kv) && peak_fp8 > 0;
  const bool fp8 = fp8_cache && eight_bits(shape.compute);

  PrefillAttentionCurve curve;
  curve.query_heads_ = static_cast<double>(shape.query_heads);
  curve.sizes_ = size + value;
  curve.basis_ = own_->gpu == kAttentionGpu ? basis_ : std::max(basis_, Basis::carried_over);
  curve.grid_ = prefill_grid(tables_->attention, fp8 ? Dtype::fp8 : Dtype::bf16, fp8_cache ? Dtype::fp8 : Dtype::bf16,
                             std::min<double>(size, kLargestHead), group);
  if (shape.head_size > kLargestHead || shape.head_size < kSmallestHead || value != size)
    curve.basis_ = std::max(curve.basis_, Basis::extended);

  const double table_sizes = 2 * std::clamp<double>(size, kSmallestHead, kLargestHead);
  const double sizes = curve.sizes_ / table_sizes;
  const double slower_compute = fp8_cache ? lender.fp8 / peak_fp8 : lender.bf16 / peak_bf16;
  const double slower_memory = lender.memory / rates_.memory * lender.streaming / own_->measured.streaming;
  const float floor = curve.grid_.at(0, 0);
  for (int row = 0; row < PrefillGrid::kRows; ++row) {
    for (int length = 0; length < PrefillGrid::kLengths; ++length) {
      // Queries read, turned, written and read again, output written; keys and values the same, once for each group.
      const double elements = PrefillGrid::rows(row) * PrefillGrid::length(length) * table_sizes / 2 * (4 + 8 / group);
      float& seconds = curve.grid_.at(row, length);
      const double work = seconds - floor;
      const double memory = std::clamp(2 * elements / tables_->attention.read_rate, 0.0, std::max(work, 0.0));
      seconds = static_cast<float>(floor + ((work - memory) * slower_compute + memory * slower_memory) * sizes);
    }
  }
  return curve;
}

}  // namespace photonrail::operators

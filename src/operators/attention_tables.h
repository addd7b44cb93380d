// The measured attention times as grids that every curve is mixed from. Parsed once; immutable; any thread.
//
// Axes go by octaves, or by half octaves (1, 1.5, 2, 3, 4, ...), so that a position is found in the bits of a double.
// A cell that was not measured (it would not fit into the memory, or would take too long) is twice the cell of half the
// rows: there the kernel is saturated.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "operators/dtype.h"

namespace photonrail::operators {

// Decoding: rows = sequences x KV heads, by half octaves from 1; contexts 2, 64, 128, ... 131072.
struct DecodeGrid {
  static constexpr int kRows = 36;
  static constexpr int kContexts = 13;

  std::array<float, kRows * kContexts> seconds{};
  std::array<std::uint8_t, kRows> measured{};  // contexts of each row that were measured, from the first on

  float& at(int row, int context) { return seconds[static_cast<std::size_t>(row * kContexts + context)]; }
  float at(int row, int context) const { return seconds[static_cast<std::size_t>(row * kContexts + context)]; }
  static double rows(int row);        // of a node
  static double context(int column);  // of a node
};

// Prefill: rows = sequences x query heads, by octaves from 1; lengths by half octaves from 16 to 16384.
struct PrefillGrid {
  static constexpr int kRows = 16;
  static constexpr int kLengths = 21;

  std::array<float, kRows * kLengths> seconds{};
  std::array<std::uint8_t, kRows> measured{};

  float& at(int row, int length) { return seconds[static_cast<std::size_t>(row * kLengths + length)]; }
  float at(int row, int length) const { return seconds[static_cast<std::size_t>(row * kLengths + length)]; }
  static double rows(int row);
  static double length(int column);
};

struct DecodeTable {
  Dtype kv = Dtype::bf16;
  int head_size = 0;
  int group = 0;  // query heads that share a KV head
  DecodeGrid grid;
};

struct PrefillTable {
  Dtype compute = Dtype::bf16;
  Dtype kv = Dtype::bf16;
  int head_size = 0;
  int group = 0;
  PrefillGrid grid;
};

// All measured on one GPU, sorted by format, head size and group.
struct AttentionTables {
  std::vector<DecodeTable> decode;
  std::vector<PrefillTable> prefill;
  double read_rate = 0;  // bytes/s, the best that any decoding kernel read a cache with
};

// Whether a kernel is one of the points that the tables hold.
bool holds_decode(const AttentionTables& tables, Dtype kv, double head_size, double group, double rows, double context);
bool holds_prefill(const AttentionTables& tables, Dtype compute, Dtype kv, double head_size, double group, double rows,
                   double length);

// Of calibration/attention_{decode,prefill}_h100.csv. An error names the table and what is wrong in it.
Result<AttentionTables> parse_attention_tables();

}  // namespace photonrail::operators

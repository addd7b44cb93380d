// The measured times of collectives, on an axis of powers of two bytes. Parsed once; immutable; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace photonrail::operators {

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, send };
enum class CollectiveLibrary : std::uint8_t { nccl, custom };  // custom: falls back to NCCL where that is quicker

// Seconds for messages of 2^8, 2^9, ... 2^35 bytes. Between and beyond the measured sizes (nodes `first` to `last`) the
// time is a straight line in the bytes; below the smallest it is that of the smallest.
struct MessageTimes {
  static constexpr int kLeastExponent = 8;
  static constexpr int kNodes = 28;

  std::array<double, kNodes> seconds{};
  int first = 0;
  int last = 0;

  static double bytes(int node);
};

struct CollectiveTable {
  std::string gpu;  // "h100"
  CollectiveLibrary library = CollectiveLibrary::nccl;
  Collective kind = Collective::all_reduce;
  int ranks = 0;
  double rate = 0;  // scale-up bytes/s per GPU and direction of that GPU
  MessageTimes times;
};

// Constants of networks and buses; calibration/collective_network.csv says where each is from.
struct NetworkConstants {
  double ring_share = 0;
  double step = 0;  // seconds of one network hop of a collective
  double send = 0;  // seconds of the smallest send
  double send_share = 0;
  std::array<double, 6> all_to_all_share{};  // of 8, 16, ... 256 ranks
  double pcie_share = 0;
  double mi300x_share = 0;
};

struct CollectiveTables {
  std::vector<CollectiveTable> tables;  // by gpu, library, kind; ranks ascending
  NetworkConstants network;
};

// Of calibration/collectives.csv and collective_network.csv. An error names the table and what is wrong in it.
Result<CollectiveTables> parse_collective_tables();

}  // namespace photonrail::operators

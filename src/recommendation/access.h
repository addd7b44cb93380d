// Time to read or write rows at random places of a memory.
//
// Theory: a row of r bytes occupies the bus as long as ceil(r / a) a + o bytes of a stream do: a is the transaction
// (32 or 64 B), o what opening a page and turning the bus around cost beside the data. Streams reach R e (peak and
// stream efficiency), and by Little's law no reader gets more than the bytes that it keeps in flight over the latency:
//   rate(r) = min(R e r / (ceil(r / a) a + o), O / L).
// With o = 64 B, rows of 32 B get a third of the stream rate, as random-access (GUPS) tests of GPUs show, and rows of
// 512 B 89 % of it, as embedding kernels of FBGEMM do. o is between 32 and 128 B. PCIe has packets instead: o per
// `packet`. Plain values; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace photonrail::recommendation {

struct RowMemory {
  double stream = 0;  // bytes/s that whole pages get: R e, or a smaller cut
  double transaction = 32;
  double overhead = 64;                                          // bytes, for each row, or
  double per_packet = 0;                                         // for each so many bytes of it; 0: for each row
  double outstanding = std::numeric_limits<double>::infinity();  // bytes in flight
  double latency = 0;                                            // seconds
  bool duplex = false;  // reads and writes at once, each at the full rate: links, but not memory buses

  double bus_bytes(double row) const {
    const double whole = std::ceil(row / transaction) * transaction;
    return whole + overhead * (per_packet > 0 ? std::ceil(row / per_packet) : 1);
  }
  double rate(double row) const {
    const double bus = stream * row / bus_bytes(row);
    return latency > 0 ? std::min(bus, outstanding / latency) : bus;
  }
  double seconds(double rows, double row) const { return rows * row / rate(row); }
  // `rows` read and `rows` written.
  double update_seconds(double rows, double row) const { return (duplex ? 1 : 2) * seconds(rows, row); }
};

}  // namespace photonrail::recommendation

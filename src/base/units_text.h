// Units as text, both ways. Parsing refuses a number without a unit ("0" excepted), an unknown unit, and a value that
// does not fit; formatting gives the shortest text that parses back to a value equal to the printed digits.
//
//   time   ps ns us ms s min h            rate   b/s Kb/s Mb/s Gb/s Tb/s, B/s KB/s MB/s GB/s TB/s, KiB/s .. TiB/s
//   size   B KB MB GB TB KiB MiB GiB TiB  flops  FLOP/s .. GFLOP/s TFLOP/s PFLOP/s
//   power  mW W kW MW                     energy pJ nJ uJ mJ J kJ MJ kWh     money  "$12.50", "$1.2M", "12.50 USD"
//   loss   dB                             ratio  "12 %" or a plain number
// K, M, G, T are powers of 1000; Ki, Mi, Gi, Ti powers of 1024; b is bit, B is byte. "Gbps" and "Gbit/s" mean Gb/s.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace photonrail {

Result<Time> parse_time(std::string_view text);
Result<Bytes> parse_bytes(std::string_view text);
Result<Rate> parse_rate(std::string_view text);
Result<FlopRate> parse_flop_rate(std::string_view text);
Result<Power> parse_power(std::string_view text);
Result<Energy> parse_energy(std::string_view text);
Result<Dollars> parse_dollars(std::string_view text);
Result<Loss> parse_loss(std::string_view text);

std::string to_text(Time value);
std::string to_text(Bytes value);
std::string to_text(Rate value);      // in bytes per second: "50 GB/s"
std::string to_text(FlopRate value);
std::string to_text(Power value);
std::string to_text(Energy value);
std::string to_text(Dollars value);
std::string to_text(Loss value);

}  // namespace photonrail

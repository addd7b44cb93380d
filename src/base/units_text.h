// Units as text, both ways. Parsing refuses a number without a unit ("0" excepted), an unknown unit, and a value that
// does not fit; formatting gives the shortest text that parses back to exactly the same value.
//
//   time   ps ns us ms s min h            rate   b/s Kb/s Mb/s Gb/s Tb/s, B/s KB/s MB/s GB/s TB/s, KiB/s .. TiB/s
//   size   B KB MB GB TB KiB MiB GiB TiB  flops  FLOP/s .. GFLOP/s TFLOP/s PFLOP/s
//   power  mW W kW MW                     energy pJ nJ uJ mJ J kJ MJ kWh     money  "$12.50", "$1.2M", "12.50 USD"
//   loss   dB                             ratio  "12 %" or a plain number
// K, M, G, T are powers of 1000; Ki, Mi, Gi, Ti powers of 1024; b is bit, B is byte. "Gbps" and "Gbit/s" mean Gb/s.
//
// Time, size and rate are integers and are read exactly, as decimal fractions in 128 bits; a value finer than one
// picosecond, byte or bit per second is refused rather than rounded. The other quantities are rounded once, to the
// nearest double. All functions are pure and safe to call from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace photonrail {

// The kinds of quantity that have a text form.
enum class Quantity { time, size, rate, flop_rate, power, energy, money, loss, ratio };

// Errors carry invalid_input and a message that names the text, what is wrong and what to write, without a position.
Result<Time> parse_time(std::string_view text);
Result<Bytes> parse_bytes(std::string_view text);
Result<Rate> parse_rate(std::string_view text);
Result<FlopRate> parse_flop_rate(std::string_view text);
Result<Power> parse_power(std::string_view text);
Result<Energy> parse_energy(std::string_view text);
Result<Dollars> parse_dollars(std::string_view text);
Result<Loss> parse_loss(std::string_view text);
Result<double> parse_ratio(std::string_view text);  // "0.12" or "12 %"

std::string to_text(Time value);
std::string to_text(Bytes value);
std::string to_text(Rate value);  // in bytes per second: "50 GB/s"
std::string to_text(FlopRate value);
std::string to_text(Power value);
std::string to_text(Energy value);
std::string to_text(Dollars value);
std::string to_text(Loss value);

// For error texts, schemas and reference pages.
const char* name_of(Quantity quantity);                  // "a time", "a rate"
const char* example_of(Quantity quantity);               // "25 ms", "50 GB/s"
std::vector<std::string> unit_names(Quantity quantity);  // every spelling that is accepted, most usual first

// Number of single-character edits that turn `a` into `b`; letters that differ in case only count one.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace photonrail

// Rates for readers of `check`: in bits as the paper gives them, and in bytes.
#pragma once

#include <string>

namespace photonrail::pool {

std::string bit_rate_text(double bits_per_second);    // "7.2 Tb/s"
std::string byte_rate_text(double bytes_per_second);  // "0.9 TB/s"
std::string size_text(double bytes);                  // "21.4 MB"

}  // namespace photonrail::pool

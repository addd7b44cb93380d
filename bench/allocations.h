// How often the program has allocated so far: for benchmarks that promise not to.
#pragma once

#include <cstdint>

std::uint64_t allocations();

#include "runtime/clock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace photonrail::runtime {

Instant now() {
  std::timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return Instant(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

std::string wall_time() {
  std::timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  std::tm parts{};
  ::gmtime_r(&time.tv_sec, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", parts, time.tv_nsec / 1000);
}

}  // namespace photonrail::runtime

// The true history of an emulated switch as JSON lines, for history checkers and for a restart:
//   {"event":"start","at_ns":1,"wall":"...","serial":"0001","inputs":16,"outputs":16,"seed":1,"matrix":[[0,1]]}
//   {"event":"change","at_ns":2,"wall":"...","writer":"scpi 1","removed":[[0,1]],"added":[[0,2]]}
//   {"event":"stop","at_ns":3,"wall":"..."}
// `at_ns` is CLOCK_BOOTTIME. An input or an output is counted from 0.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/switch_model.h"

namespace photonrail::emulator {

Instant now();            // CLOCK_BOOTTIME
std::string wall_time();  // RFC 3339, UTC, microseconds

// The matrix that the log tells, empty where there is no such file. A line that was cut off by a crash at the end is
// left out. io, or invalid_input with the line.
Result<std::vector<device::CrossConnect>> matrix_of_log(const std::string& path);

class WriterLog {
 public:
  // Appends. io where it cannot be written. An empty path: nothing is written.
  static Result<WriterLog> open(const std::string& path);

  Status start(const device::SwitchModelSpec& spec, const std::vector<device::CrossConnect>& matrix);
  Status change(const device::WriterLogEntry& entry);
  Status stop();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Status line(std::string text);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace photonrail::emulator

// One line on standard error that tells how far a long command is; nothing where that is not a terminal.
// show() may be called from any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <string_view>

namespace photonrail::report {

class Progress {
 public:
  explicit Progress(bool enabled) : enabled_(enabled) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // "[3/43] what"; without a total "[3] what".
  void show(std::size_t done, std::size_t total, std::string_view what);

 private:
  bool enabled_;
  bool shown_ = false;
  std::mutex mutex_;
};

bool stdout_is_terminal();
bool stderr_is_terminal();

// Colour is for terminals without NO_COLOR (no-color.org).
bool colour_wanted();

}  // namespace photonrail::report

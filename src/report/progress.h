// One line on standard error that tells how far a long command is; nothing where that is not a terminal.
// advance() may be called from any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <string_view>

namespace photonrail::report {

class Progress {
 public:
  Progress(std::size_t total, bool enabled) : total_(total), enabled_(enabled) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::string_view what);

 private:
  std::size_t total_;
  bool enabled_;
  std::size_t done_ = 0;
  std::mutex mutex_;
};

bool stdout_is_terminal();
bool stderr_is_terminal();

// Colour is for terminals without NO_COLOR (no-color.org).
bool colour_wanted();

}  // namespace photonrail::report

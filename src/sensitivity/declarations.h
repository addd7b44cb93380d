// What the points of an experiment rest on beside their scenario: overrides of listed figures, the basis of the
// calibration. Each point declares its own while it is evaluated; the result prints them all, once.
//
// Lines that differ in their numbers alone ("... is 2 TB/s in place of 3.35 TB/s", of a rate that is varied) count as
// one, of which the first in alphabetical order is shown. So the lines depend on the points, not on their order or on
// threads. All functions may be called from several threads at once.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace photonrail::sensitivity {

class Declarations {
 public:
  // `what`: "OVERRIDE" or "basis".
  void add(std::string_view what, const std::string& text);

  // (what, text), by what and text.
  std::vector<std::pair<std::string, std::string>> lines() const;

 private:
  struct Said {
    std::string text;
    bool differs = false;  // other numbers at other points
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Said> said_;  // by what and the text without numbers
};

}  // namespace photonrail::sensitivity

// What `photonrail replay` and `photonrail audit` are asked for. Filled by command_line.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace photonrail::cli {

struct ReplayOptions {
  std::string directory;               // state directory of a daemon; or
  std::vector<std::string> endpoints;  // of etcd
  std::string prefix = "/photonrail";
  std::string certificate, key, authority;
  std::uint64_t to = 0;  // only so many records; 0: all
  bool json = false;
};

struct AuditOptions {
  enum class Action : std::uint8_t { verify, show } action = Action::verify;
  std::string file;
  std::string head;         // verify: a hash that must be in it
  std::string text;         // show: only lines with this text
  std::uint64_t limit = 0;  // show: the last so many; 0: all
  bool json = false;
};

}  // namespace photonrail::cli

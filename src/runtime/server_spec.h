// What the servers of the daemon are told: addresses, files, limits. Plain values.
#pragma once

#include <cstddef>
#include <string>

#include "base/instant.h"

namespace photonrail::runtime {

struct TlsFiles {
  std::string certificate, key, authority;  // paths; PEM
  Duration reload = std::chrono::seconds(10);
};

struct GrpcSpec {
  std::string address;  // "127.0.0.1:7443"
  bool plaintext = false;
  TlsFiles tls;
  int streams_per_connection = 1024;
  Duration keepalive = std::chrono::seconds(20);  // silence after which the peer is asked
};

struct RankLimits {
  std::size_t streams = 4096;           // open at a time
  std::size_t messages_waiting = 8192;  // for one stream
  std::size_t ranks_per_stream = 1024;  // of a node agent
  Duration hello_within = std::chrono::seconds(10);
};

}  // namespace photonrail::runtime

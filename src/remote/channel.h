// How to reach a daemon. Plain values; see operator_client.h and rank_link.h.
#pragma once

#include <string>
#include <vector>

namespace photonrail::remote {

struct ChannelSpec {
  std::string address = "127.0.0.1:7443";
  std::vector<std::string> others;  // daemons that may lead in its place; rank_link.h tries all of them in turn
  // Mutual TLS: PEM files. Read again when they change.
  std::string certificate, key, authority;
  std::string server_name;      // expected in the daemon's certificate; "": the host of `address`
  bool plaintext = false;       // no TLS: the daemon must listen so, on loopback
  std::string identity;         // with plaintext: the SPIFFE ID to claim
  bool own_connection = false;  // not shared with other channels of this process
};

}  // namespace photonrail::remote

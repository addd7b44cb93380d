// Bridge between standard input and output and a TCP port: what an sshd starts as its subsystem `netconf`, in front of
// an emulated switch.
#pragma once

#include <string>

#include "base/result.h"

namespace photonrail::carrier {

// Copies bytes both ways until either side ends. io where the port cannot be reached. Blocks; call it once in a
// process.
Status bridge_standard_streams(const std::string& host, const std::string& port);

}  // namespace photonrail::carrier

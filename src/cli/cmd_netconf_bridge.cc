#include "carrier/bridge.h"
#include "cli/commands.h"

namespace photonrail::cli {

Status run(const NetconfBridgeOptions& options) {
  const std::size_t colon = options.connect.rfind(':');
  const bool plain = colon != options.connect.npos && colon > 0 && colon + 1 < options.connect.size();
  if (!plain) return fail(ErrorCode::usage, "--connect " + options.connect + ": write HOST:PORT");
  return carrier::bridge_standard_streams(options.connect.substr(0, colon), options.connect.substr(colon + 1));
}

}  // namespace photonrail::cli

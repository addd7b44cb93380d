#include "cli/commands.h"
#include "cli/output.h"

namespace photonrail::cli {

Status run(const VersionOptions&) { return print("photonrail " PHOTONRAIL_VERSION "\n"); }

}  // namespace photonrail::cli

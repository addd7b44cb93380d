// Which role may call which method. What is not in the table is denied.
// Viewers read, schedulers also run jobs, operators do everything but speak for ranks. Pure; any thread.
#pragma once

#include <string_view>

#include "daemon/core.h"

namespace photonrail::security {

// `method`: full name, "/photonrail.control.v1.Operator/GetStatus".
bool allowed(daemon::Identity::Role role, std::string_view method);

}  // namespace photonrail::security

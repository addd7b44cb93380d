// What systemd wants to hear from a service (sd_notify(3)), without its library. Any thread.
#pragma once

#include <string_view>

#include "base/instant.h"

namespace photonrail::runtime {

// Sends e.g. "READY=1" to the socket that NOTIFY_SOCKET names. Does nothing where there is none.
void notify_service_manager(std::string_view state);

// How often "WATCHDOG=1" must be sent (half of WATCHDOG_USEC); zero where nobody waits for it.
Duration watchdog_period();

}  // namespace photonrail::runtime

// Options of TCP that make a pulled cable known within seconds, not minutes. Internal to this folder.
#pragma once

namespace photonrail::carrier {

// No delay, keepalive, and a limit for unacknowledged bytes.
void tune_tcp(int socket);

}  // namespace photonrail::carrier

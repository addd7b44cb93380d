#include "runtime/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace photonrail::runtime {

void notify_service_manager(std::string_view state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  sockaddr_un address{};
  const std::size_t length = std::strlen(path);
  if (length == 0 || length >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace of Linux
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
  ::close(socket);
}

Duration watchdog_period() {
  const char* const text = std::getenv("WATCHDOG_USEC");
  if (text == nullptr) return Duration::zero();
  const long long microseconds = std::strtoll(text, nullptr, 10);
  return microseconds <= 0 ? Duration::zero() : Duration(std::chrono::microseconds(microseconds)) / 2;
}

}  // namespace photonrail::runtime

#include "src/mount/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "fs/core/files/file.h"

namespace framefs {

// Source: sd_notify(3), "Standalone Implementations".
void tell_service_manager(std::string_view state) {
  const char* const listener = std::getenv("NOTIFY_SOCKET");
  if (listener == nullptr) return;
  const std::string path(listener);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return;
  if (path.front() != '/' && path.front() != '@') return;
  std::ranges::copy(path, address.sun_path);
  if (path.front() == '@') address.sun_path[0] = '\0';  // an abstract socket
  const fs::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  // the socket functions take every address family by one type
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  // A failed notification changes nothing for the mount: the service manager times out.
  [[maybe_unused]] const auto sent =
      ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, to, size);
}

}  // namespace framefs

#include "fs/fuse/confine/watchdog_messages.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace framefs::fuse {
namespace {

// The longest text is the command of a program.
constexpr std::size_t kMaxMessageBytes = 64 << 10;

// The space for one descriptor beside the text of a message.
struct DescriptorSpace {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

}  // namespace

bool send_message(int socket, char first, std::string_view text, int fd) {
  if (text.size() >= kMaxMessageBytes) return false;
  // sendmsg() only reads the bytes.
  std::array<iovec, 2> parts = {
      {{.iov_base = &first, .iov_len = 1},
       {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  DescriptorSpace space;
  if (fd >= 0) {
    message.msg_control = space.bytes.data();
    message.msg_controllen = space.bytes.size();
    auto* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

std::optional<WatchdogMessage> receive_message(int socket) {
  std::vector<char> packet(kMaxMessageBytes);
  iovec part{.iov_base = packet.data(), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  DescriptorSpace space;
  message.msg_control = space.bytes.data();
  message.msg_controllen = space.bytes.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return std::nullopt;
  WatchdogMessage received{
      .first = packet[0], .text = {packet.data() + 1, static_cast<std::size_t>(got) - 1}, .fd = {}};
  const auto* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    received.fd = fs::UniqueFd(fd);
  }
  return received;
}

// Source: name_to_handle_at(2), which sets the number even if the handle does not fit.
std::optional<int> mount_number(int fd) {
  file_handle no_room{};
  int number = 0;
  if (::name_to_handle_at(fd, "", &no_room, &number, AT_EMPTY_PATH) != 0 && errno != EOVERFLOW) {
    return std::nullopt;
  }
  return number;
}

fs::UniqueFd open_path(const char* path) { return fs::UniqueFd(::open(path, O_PATH | O_CLOEXEC)); }

}  // namespace framefs::fuse

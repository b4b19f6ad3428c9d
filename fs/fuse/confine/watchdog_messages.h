#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fs/core/files/file.h"

namespace framefs::fuse {

// The messages between a daemon and its watchdog.  Each is one packet of their socket.

// The first byte of a message of the daemon.
enum class WatchdogWord : char {
  mountpoint = 'P',
  mount_number = 'M',
  open_readahead = 'R',
  unmount = 'U',
  unmount_if_unused = 'I',
  keep_log = 'L',
  open_log = 'O',
  keep_mount = 'W',
  mount = 'T',
  keep_file = 'F',
  open_file = 'f',
  keep_program = 'C',
  start_program = 'S',
  program_state = 'Q',
  end_program = 'E',
  keep_source = 'D',
  open_by_handle = 'H',
  hold = 'K',
  confined = 'Z',
};
// The first byte of the answer to a question.
constexpr char kDone = 1;
constexpr char kNotDone = 0;
// The text of WatchdogWord::keep_source if nothing may be written.
constexpr const char* kReadOnly = "ro";
// The text of WatchdogWord::unmount if the kernel still sends requests.
constexpr const char* kConnected = "connected";

struct WatchdogMessage {
  char first = 0;
  std::string text;
  fs::UniqueFd fd;  // empty: the message has no descriptor
};

// Sends a message; `fd` is -1 if it has no descriptor.  False if it is too long, or if the other
// side is gone.
bool send_message(int socket, char first, std::string_view text, int fd = -1);
// Waits for a message.  Empty if the other side is gone.
std::optional<WatchdogMessage> receive_message(int socket);

// The kernel's number for the mount that contains `fd`, as in /proc/self/mountinfo. The call sends
// no request to the filesystem, because its daemon may be dead or may be this process.
std::optional<int> mount_number(int fd);

// An O_PATH descriptor; empty if there is no such path.
fs::UniqueFd open_path(const char* path);

}  // namespace framefs::fuse

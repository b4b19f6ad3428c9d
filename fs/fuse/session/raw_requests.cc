#include "fs/fuse/session/raw_requests.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "fs/core/files/file.h"

namespace framefs::fuse {
namespace {

// Of the request that the thread processes.  Mounts share no state through it.
thread_local bool clears_bits = false;
// Added to the reply to FUSE_INIT.
thread_local std::uint32_t added_flags = 0;

// The structure at `at`; zeros if the message is too short.
template <class T>
T read_at(std::span<const std::byte> message, std::size_t at) {
  T value{};
  if (at > message.size() || message.size() - at < sizeof(value)) return value;
  std::memcpy(&value, message.data() + at, sizeof(value));
  return value;
}

bool is_marked(std::span<const std::byte> message, std::uint32_t opcode) {
  constexpr auto kBody = sizeof(fuse_in_header);
  if (opcode == FUSE_WRITE) {
    const auto body = read_at<fuse_write_in>(message, kBody);
    return (body.write_flags & FUSE_WRITE_KILL_SUIDGID) != 0;
  }
  if (opcode == FUSE_SETATTR) {
    const auto body = read_at<fuse_setattr_in>(message, kBody);
    // The kernel does not mark a chown(2).  One that names neither owner nor group changes nothing
    // else.
    constexpr std::uint32_t kNoChange = FATTR_FH | FATTR_LOCKOWNER | FATTR_CTIME;
    constexpr std::uint32_t kOwner = FATTR_UID | FATTR_GID;
    const bool is_chown = (body.valid & kOwner) != 0 || (body.valid & ~kNoChange) == 0;
    return is_chown || (body.valid & FATTR_KILL_SUIDGID) != 0;
  }
  // The kernel does not mark this one.
  return opcode == FUSE_FALLOCATE && read_at<fuse_in_header>(message, 0).uid != 0;
}

void add_flags(std::span<std::byte> reply) {
  constexpr auto kFlagsAt = sizeof(fuse_out_header) + offsetof(fuse_init_out, flags);
  if (read_at<fuse_out_header>(reply, 0).error != 0) return;
  if (reply.size() < kFlagsAt + sizeof(std::uint32_t)) return;
  const auto flags = read_at<std::uint32_t>(reply, kFlagsAt) | added_flags;
  std::memcpy(reply.data() + kFlagsAt, &flags, sizeof(flags));
}

// libfuse writes its reply to a socket, from where it goes to the kernel with more flags.  No
// other thread uses the connection before the reply.
void process_init(fuse_session* session, fuse_buf& request, std::uint32_t offered) {
  const int connection = fuse_session_fd(session);
  const fs::UniqueFd kernel(::fcntl(connection, F_DUPFD_CLOEXEC, 0));
  std::array<int, 2> ends{-1, -1};
  const bool is_paired = ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0;
  const fs::UniqueFd to(ends[0]);
  const fs::UniqueFd from(ends[1]);
  if (!kernel || !is_paired || ::dup3(to.get(), connection, O_CLOEXEC) < 0) {
    return fuse_session_process_buf(session, &request);
  }
  added_flags = 0;
  fuse_session_process_buf(session, &request);
  ::dup3(kernel.get(), connection, O_CLOEXEC);
  std::array<std::byte, 4096> buffer{};
  const auto got = ::recv(from.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got <= 0) return;
  const auto reply = std::span(buffer).first(static_cast<std::size_t>(got));
  added_flags &= offered;
  if (added_flags != 0) add_flags(reply);
  [[maybe_unused]] const auto sent = ::write(connection, reply.data(), reply.size());
}

}  // namespace

void process_request(fuse_session* session, fuse_buf& request) {
  const auto message =
      std::as_bytes(std::span(static_cast<const char*>(request.mem), request.size));
  const auto opcode = read_at<fuse_in_header>(message, 0).opcode;
  if (opcode == FUSE_INIT) {
    const auto offered = read_at<fuse_init_in>(message, sizeof(fuse_in_header)).flags;
    return process_init(session, request, offered);
  }
  clears_bits = is_marked(message, opcode);
  fuse_session_process_buf(session, &request);
  clears_bits = false;
}

void promise_to_clear_setid_bits() noexcept { added_flags |= FUSE_HANDLE_KILLPRIV_V2; }

void allow_parallel_lookups() noexcept { added_flags |= FUSE_PARALLEL_DIROPS; }

bool must_clear_setid_bits() noexcept { return clears_bits; }

}  // namespace framefs::fuse

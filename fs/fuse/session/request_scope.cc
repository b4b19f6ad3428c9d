#include "fs/fuse/session/request_scope.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/core.h>

#include "fs/core/files/file.h"
#include "fs/fuse/session/end_signals.h"

namespace framefs::fuse {
namespace {

// A block has at most 256 MiB; decoding a block with the delta filter takes another 256 MiB. The
// rest is for arrays whose blocks lie across the requested rows.
constexpr std::uint64_t kUnitsPerRequest = 2ULL << 30;
constexpr std::uint64_t kUnitsPerByte = 1024;

constexpr std::array<std::string_view, 10> kBounded = {
    "lookup",  "getattr", "open",        "read",     "lseek",
    "opendir", "readdir", "readdirplus", "getxattr", "listxattr"};

bool is_bounded(std::string_view operation) {
  return std::ranges::find(kBounded, operation) != kBounded.end();
}

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }

// Signals that do not end a process unless it handles them.
constexpr std::uint64_t kHarmless = bit_of(SIGCHLD) | bit_of(SIGCONT) | bit_of(SIGSTOP) |
                                    bit_of(SIGTSTP) | bit_of(SIGTTIN) | bit_of(SIGTTOU) |
                                    bit_of(SIGURG) | bit_of(SIGWINCH);

std::uint64_t field_of(std::string_view status, std::string_view name) {
  const auto at = status.find(name);
  std::uint64_t bits = 0;
  if (at == std::string_view::npos) return bits;
  const auto text = status.substr(at + name.size());
  std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  return bits;
}

// Whether a signal is about to end the thread. If a signal ends a process, the kernel marks each of
// its threads with a pending SIGKILL (complete_signal()).
// Returns `if_hidden` if the system does not show the thread.
// Source: proc(5), /proc/pid/status.
bool is_dying(pid_t thread, bool if_hidden) {
  const auto path = fmt::format("/proc/{}/status", thread);
  const fs::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ENOENT && if_hidden;
  std::array<char, 8192> buffer{};
  const auto got = ::read(file.get(), buffer.data(), buffer.size());
  if (got <= 0) return true;  // the thread has ended meanwhile
  const std::string_view status(buffer.data(), static_cast<std::size_t>(got));
  const auto own = field_of(status, "\nSigPnd:\t");
  if ((own & bit_of(SIGKILL)) != 0) return true;
  const auto shared = field_of(status, "\nShdPnd:\t");
  const auto spared = field_of(status, "\nSigBlk:\t") | field_of(status, "\nSigIgn:\t") |
                      field_of(status, "\nSigCgt:\t") | kHarmless;
  return ((own | shared) & ~spared) != 0;
}

}  // namespace

RequestScope::RequestScope(fuse_req_t req, fuse_session* session, std::string_view operation)
    : budget_(kUnitsPerRequest,
              [req, session] {
                if (is_ending(session)) return false;
                return fuse_req_interrupted(req) == 0 || !is_dying(fuse_req_ctx(req)->pid, true);
              }),
      scope_(is_bounded(operation) ? &budget_ : nullptr) {
  if (is_bounded(operation)) return;
  waits_.emplace([req, session] {
    if (is_ending(session)) return true;
    // If the request is served a second time, the interrupt may have come during the first time.
    return is_dying(fuse_req_ctx(req)->pid, fuse_req_interrupted(req) != 0);
  });
}

void allow_read(std::size_t size) { codec::allow_work(size * kUnitsPerByte); }

}  // namespace framefs::fuse

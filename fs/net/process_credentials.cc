#include "fs/net/process_credentials.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "fs/core/file.h"
#include "fs/net/credential_json.h"

namespace framefs::net {
namespace {

constexpr std::chrono::seconds kLongest{60};
constexpr std::size_t kMaxOutputBytes = 64 << 10;

struct Child {
  pid_t pid = 0;
  fs::UniqueFd output;
};

// Starts `sh -c command`, with its output on a pipe.
Result<Child> start(const std::string& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fs::system_error("pipe2");
  fs::UniqueFd reading(ends[0]);
  const fs::UniqueFd writing(ends[1]);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  // The calling thread blocks all signals, which a program does not expect.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  std::array<char*, 4> arguments{const_cast<char*>("sh"), const_cast<char*>("-c"),
                                 const_cast<char*>(command.c_str()), nullptr};
  Child child;
  const int error =
      ::posix_spawn(&child.pid, "/bin/sh", &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return fs::system_error_of(error, "credential_process");
  child.output = std::move(reading);
  return child;
}

// Reads the whole output of the child.  Errors: system.
Status read_output(int fd, std::string& output) {
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (output.size() <= kMaxOutputBytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return fs::system_error_of(ETIMEDOUT, "credential_process");
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 4096> some{};
    const auto count = ::read(fd, some.data(), some.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fs::system_error("credential_process");
    if (count == 0) return {};
    output.append(some.data(), static_cast<std::size_t>(count));
    wipe(some.data(), some.size());
  }
  return fs::system_error_of(EFBIG, "credential_process");
}

}  // namespace

Result<std::optional<Credentials>> ProcessCredentials::fetch() {
  FRAMEFS_TRY(auto child, start(command_));
  std::string output;
  const auto read = read_output(child.output.get(), output);
  if (!read) ::kill(child.pid, SIGKILL);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!read) return std::unexpected(read.error());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fs::system_error_of(EACCES, "credential_process");
  }
  auto credentials = parse_credential_json(output);
  wipe(output.data(), output.size());
  if (!credentials) return std::unexpected(credentials.error());
  return std::move(*credentials);
}

}  // namespace framefs::net

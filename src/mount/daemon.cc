#include "src/mount/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "src/cli/exit_codes.h"
#include "src/mount/held_signals.h"

namespace framefs {
namespace {

constexpr char kReady = 1;

constexpr int kSignalPollMs = 50;

// Waits for the byte that ready() writes.  If the child ends without it, returns its exit code.  A
// signal that ends this command also ends the child, which is in another session.
int wait_for(pid_t child, int ready_pipe) {
  const HeldSignals signals;
  char byte = 0;
  ssize_t got = 0;
  pollfd pipe{.fd = ready_pipe, .events = POLLIN, .revents = 0};
  while (!signals.has_arrived() && ::poll(&pipe, 1, kSignalPollMs) <= 0) {
  }
  if (signals.has_arrived()) {
    // The destructor of `signals` ends this process.
    ::kill(child, SIGTERM);
    return kExitFailure;
  }
  do {
    got = ::read(ready_pipe, &byte, 1);
  } while (got < 0 && errno == EINTR);
  ::close(ready_pipe);
  if (got == 1 && byte == kReady) return kExitOk;
  int status = 0;
  if (::waitpid(child, &status, 0) == child && WIFEXITED(status)) {
    // A child that ended before ready() has failed, even if its exit code is 0.
    return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : kExitFailure;
  }
  return kExitFailure;
}

}  // namespace

void ensure_standard_streams() {
  // Messages may get lost, but neither data nor answers.
  constexpr std::array kFlags = {O_WRONLY, O_RDONLY, O_RDWR};
  static_assert(STDIN_FILENO == 0 && STDOUT_FILENO == 1 && STDERR_FILENO == 2);
  for (int fd = 0; std::cmp_less(fd, kFlags.size()); ++fd) {
    const bool is_closed = ::fcntl(fd, F_GETFD) < 0;
    // A new descriptor takes the lowest number that is free.
    if (is_closed) std::ignore = ::open("/dev/null", kFlags[static_cast<std::size_t>(fd)]);
  }
}

void find_programs_of_system() {
  if (::geteuid() != 0) return;
  ::setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
}

void allow_most_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Daemon::Forked Daemon::fork() {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    std::perror("framefs: pipe");
    return {.child = nullptr, .parent_exit_code = kExitFailure};
  }
  const pid_t child = ::fork();
  if (child < 0) {
    std::perror("framefs: fork");
    return {.child = nullptr, .parent_exit_code = kExitFailure};
  }
  if (child > 0) {
    ::close(pipe[1]);
    return {.child = nullptr, .parent_exit_code = wait_for(child, pipe[0])};
  }
  ::close(pipe[0]);
  ::setsid();
  return {.child = std::unique_ptr<Daemon>(new Daemon(pipe[1])), .parent_exit_code = kExitOk};
}

void Daemon::ready() {
  // The daemon keeps no working directory, which would block an unmount, and no terminal.
  if (::chdir("/") != 0) std::perror("framefs: chdir");
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
    ::close(null);
  }
  // The write fails if the command was killed meanwhile.  Its user does not expect a mount then.
  if (::write(ready_pipe_, &kReady, 1) != 1) ::kill(::getpid(), SIGTERM);
  ::close(std::exchange(ready_pipe_, -1));
}

Daemon::~Daemon() {
  if (ready_pipe_ >= 0) ::close(ready_pipe_);
}

}  // namespace framefs

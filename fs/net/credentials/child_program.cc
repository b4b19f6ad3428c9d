#include "fs/net/credentials/child_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace framefs::net {

Result<std::unique_ptr<ChildProgram>> ChildProgram::start(const std::string& command,
                                                          Surroundings surroundings) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fs::system_error("pipe2");
  fs::UniqueFd reading(ends[0]);
  const fs::UniqueFd writing(ends[1]);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, surroundings.errors, STDERR_FILENO);
  // The calling thread may block all signals, and the watchdog ignores some, which a program does
  // not expect.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  const int group = surroundings.own_group ? POSIX_SPAWN_SETPGROUP : 0;
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));

  std::array<char*, 4> arguments{const_cast<char*>("sh"), const_cast<char*>("-c"),
                                 const_cast<char*>(command.c_str()), nullptr};
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return fs::system_error_of(error, "posix_spawn");
  return std::unique_ptr<ChildProgram>(
      new ChildProgram(pid, surroundings.own_group, std::move(reading)));
}

RunningProgram::State ChildProgram::state() {
  int status = 0;
  if (state_ == State::running && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    const bool succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    state_ = succeeded ? State::succeeded : State::failed;
  }
  return state_;
}

void ChildProgram::kill() const {
  if (state_ == State::running) ::kill(own_group_ ? -pid_ : pid_, SIGKILL);
}

ChildProgram::~ChildProgram() {
  if (state() != State::running) return;
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace framefs::net

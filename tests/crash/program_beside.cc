#include "tests/crash/program_beside.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace framefs::test {

void ProgramBeside::start(const std::string& argument) {
  wait();
  // The program does not change its arguments.
  const std::array<char*, 3> arguments{const_cast<char*>(program_.c_str()),
                                       const_cast<char*>(argument.c_str()), nullptr};
  const int error =
      ::posix_spawn(&process_, program_.c_str(), nullptr, nullptr, arguments.data(), environ);
  if (error != 0) {
    errno = error;
    std::perror(program_.c_str());
    std::abort();
  }
  ++started_;
}

void ProgramBeside::wait() {
  if (process_ == 0) return;
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  succeeded_ += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1U : 0U;
}

}  // namespace framefs::test

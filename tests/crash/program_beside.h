#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace framefs::test {

// A program that runs beside its caller, one process at a time.
// Threads: one.
class ProgramBeside {
 public:
  explicit ProgramBeside(std::string program) : program_(std::move(program)) {}
  ProgramBeside(const ProgramBeside&) = delete;
  ProgramBeside& operator=(const ProgramBeside&) = delete;
  ~ProgramBeside() { wait(); }

  // Starts the program, after the last process has ended.  If the program cannot be started, the
  // caller's process ends.
  void start(const std::string& argument);
  // Waits for the process, if there is one.
  void wait();

  [[nodiscard]] std::uint64_t started() const { return started_; }
  // How many processes ended with exit code 0.
  [[nodiscard]] std::uint64_t succeeded() const { return succeeded_; }

 private:
  const std::string program_;
  pid_t process_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t succeeded_ = 0;
};

}  // namespace framefs::test

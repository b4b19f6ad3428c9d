#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "fs/net/credentials/credential_access.h"

namespace framefs::net {

// A program that is a child of this process.
class ChildProgram final : public RunningProgram {
 public:
  struct Surroundings {
    int errors;              // its standard error
    bool own_group = false;  // in a process group of its own, which is killed as a whole
  };
  // Runs `sh -c command`, without standard input.  Errors: system.
  static Result<std::unique_ptr<ChildProgram>> start(const std::string& command,
                                                     Surroundings surroundings);
  ~ChildProgram() override;

  [[nodiscard]] int output() const override { return output_.get(); }
  State state() override;
  // Does not wait.
  void kill() const;
  // Closes this process's end of the pipe.  Another process has a copy.
  void close_output() { output_ = {}; }

 private:
  ChildProgram(pid_t pid, bool own_group, fs::UniqueFd output)
      : pid_(pid), own_group_(own_group), output_(std::move(output)) {}

  const pid_t pid_;
  const bool own_group_;
  fs::UniqueFd output_;
  State state_ = State::running;
};

}  // namespace framefs::net

#pragma once

#include <memory>
#include <string>

#include "fs/core/files/file.h"
#include "fs/net/result.h"

namespace framefs::net {

// A program that runs.  The destructor kills it if it still runs.
// Threads: one at a time.
class RunningProgram {
 public:
  enum class State : char { failed, running, succeeded };

  RunningProgram() = default;
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  virtual ~RunningProgram() = default;

  // The pipe from which to read its standard output.
  [[nodiscard]] virtual int output() const = 0;
  // Does not wait.  A program succeeds if its exit code is 0.
  virtual State state() = 0;
};

// The part of the machine that sources of credentials use: programs, and files that are read again
// and again.  A daemon inside its sandbox reaches it through its watchdog.
// Threads: keep_file() and keep_program() before the sandbox is entered; the others any number.
class CredentialAccess {
 public:
  CredentialAccess() = default;
  CredentialAccess(const CredentialAccess&) = delete;
  CredentialAccess& operator=(const CredentialAccess&) = delete;
  virtual ~CredentialAccess() = default;

  // Announces a file for open_file().
  virtual void keep_file(const std::string& path) = 0;
  // Announces the command for start_program().
  virtual void keep_program(const std::string& command) = 0;

  // Opens a file for reading.  Errors: system.
  [[nodiscard]] virtual Result<fs::UniqueFd> open_file(const std::string& path) const = 0;
  // Runs `sh -c command`.  Errors: system.
  [[nodiscard]] virtual Result<std::unique_ptr<RunningProgram>> start_program(
      const std::string& command) const = 0;
};

// Opens files and runs programs in this process.
class DirectAccess final : public CredentialAccess {
 public:
  void keep_file(const std::string&) override {}
  void keep_program(const std::string&) override {}
  [[nodiscard]] Result<fs::UniqueFd> open_file(const std::string& path) const override;
  [[nodiscard]] Result<std::unique_ptr<RunningProgram>> start_program(
      const std::string& command) const override;
};

// The first line of a file that holds a token.  The caller must wipe it.
// Errors: system; ENOENT with `what` if the file cannot be opened or is empty.
Result<std::string> read_token_file(const CredentialAccess& access, const std::string& path,
                                    const char* what);

}  // namespace framefs::net

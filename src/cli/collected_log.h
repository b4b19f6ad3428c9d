#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "fs/core/diagnostics/log.h"

namespace framefs {

// Collects the filesystem's log while a command runs, so that the command can print it with its
// result.
class CollectedLog {
 public:
  CollectedLog();

  [[nodiscard]] fs::Log& log() noexcept { return log_; }

  // Returns the collected lines and clears the log.  Threads: no other thread may log meanwhile.
  std::vector<std::string> take_lines();
  // Returns the messages about a failure and clears the log.  They are the collected lines, which
  // name the chunk and its place.  If there are none, the message is `path` and the error.
  std::vector<std::string> take_failure(const std::string& path, const codec::Error& error);

 private:
  std::ostringstream text_;
  fs::Log log_;
};

// Prints the lines to standard error, each after the program's name and printable().
void print_messages(const std::vector<std::string>& lines);

}  // namespace framefs

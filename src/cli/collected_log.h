#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "fs/core/log.h"

namespace framefs {

// What the filesystem logs while a command uses it, to be told when the command knows what came of it.
class CollectedLog {
 public:
  CollectedLog();

  [[nodiscard]] fs::Log& log() noexcept { return log_; }

  // The lines so far, which are then forgotten.  Call it while nobody logs.
  std::vector<std::string> take_lines();
  // The same for the messages about a failure: what was logged of it, which names chunk and place, or
  // else the error itself, which `path` goes before.
  std::vector<std::string> take_failure(const std::string& path, const codec::Error& error);

 private:
  std::ostringstream text_;
  fs::Log log_;
};

// On standard error, each behind the program's name.
void print_messages(const std::vector<std::string>& lines);

}  // namespace framefs

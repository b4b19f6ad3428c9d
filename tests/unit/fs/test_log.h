#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "fs/core/log.h"

namespace framefs::test {

// A log that keeps its lines, each "level: text".
class TestLog {
 public:
  TestLog();

  fs::Log& log() { return log_; }

  // Call it while nobody logs.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::ostringstream text_;
  fs::Log log_;
};

}  // namespace framefs::test

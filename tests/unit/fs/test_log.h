#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "fs/core/diagnostics/log.h"

namespace framefs::test {

// A log that keeps its lines in the form "level: text".
class TestLog {
 public:
  explicit TestLog(fs::LogLimits limits = {});

  fs::Log& log() { return log_; }

  // Must not be called while another thread logs.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::ostringstream text_;
  fs::Log log_;
};

}  // namespace framefs::test

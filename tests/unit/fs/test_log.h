#pragma once

#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "fs/core/log.h"

namespace framefs::test {

// A log that keeps its lines, each "level: text".
class TestLog {
 public:
  TestLog() : log_(make_logger(text_)) {}

  fs::Log& log() { return log_; }

  // Call it while nobody logs.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::istringstream in(text_.str());
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

 private:
  static std::shared_ptr<spdlog::logger> make_logger(std::ostringstream& to) {
    auto logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(to));
    logger->set_pattern("%l: %v");
    return logger;
  }

  std::ostringstream text_;
  fs::Log log_;
};

}  // namespace framefs::test

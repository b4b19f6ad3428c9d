#include "tests/unit/fs/test_log.h"

#include <memory>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

namespace framefs::test {
namespace {

std::shared_ptr<spdlog::logger> make_logger(std::ostringstream& to) {
  auto logger = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(to));
  logger->set_pattern("%l: %v");
  return logger;
}

}  // namespace

TestLog::TestLog(fs::LogLimits limits) : log_(make_logger(text_), std::move(limits)) {}

std::vector<std::string> TestLog::lines() const {
  std::vector<std::string> lines;
  std::istringstream in(text_.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace framefs::test

#include "src/cli/collected_log.h"

#include <iostream>
#include <memory>

#include <fmt/core.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "fs/core/diagnostics/error_map.h"
#include "src/cli/cause_text.h"
#include "src/cli/printable.h"

namespace framefs {
namespace {

std::shared_ptr<spdlog::logger> make_logger(std::ostringstream& to) {
  auto logger = std::make_shared<spdlog::logger>(
      "framefs", std::make_shared<spdlog::sinks::ostream_sink_mt>(to));
  logger->set_pattern("%v");
  return logger;
}

}  // namespace

CollectedLog::CollectedLog() : log_(make_logger(text_)) {}

std::vector<std::string> CollectedLog::take_lines() {
  std::vector<std::string> lines;
  std::istringstream in(text_.str());
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  text_.str({});
  return lines;
}

std::vector<std::string> CollectedLog::take_failure(const std::string& path,
                                                    const codec::Error& error) {
  auto lines = take_lines();
  if (lines.empty()) lines.push_back(fmt::format("{}: {}", path, cause_text(error)));
  return lines;
}

void print_messages(const std::vector<std::string>& lines) {
  for (const auto& line : lines) std::cerr << "framefs: " << printable(line) << '\n';
}

}  // namespace framefs

#include "src/observe/daemon_stats.h"

#include <utility>

#include "src/observe/mount_list.h"

namespace framefs {

codec::Result<DaemonStats> DaemonStats::of(const std::filesystem::path& mountpoint) {
  FRAMEFS_TRY(const auto text, read_stats(mountpoint));
  return DaemonStats(text);
}

DaemonStats::DaemonStats(const std::string& text)
    : json_(given::Json::parse(text, nullptr, false)) {}

std::optional<pid_t> DaemonStats::pid() const {
  const auto pid = given::number(given::value_at(json_, "/pid"));
  if (pid == 0 || !std::in_range<pid_t>(pid)) return std::nullopt;
  return static_cast<pid_t>(pid);
}

std::optional<std::string> DaemonStats::source() const {
  const auto& source = given::value_at(json_, "/source");
  return source.is_string() ? std::optional(source.get<std::string>()) : std::nullopt;
}

std::vector<std::string> DaemonStats::options() const {
  std::vector<std::string> words;
  for (const auto& word : given::value_at(json_, "/options")) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

std::uint64_t DaemonStats::counter(const char* place) const {
  return given::number(given::value_at(json_, place));
}

std::uint64_t DaemonStats::requests() const {
  std::uint64_t sum = 0;
  for (const auto& latency : given::value_at(json_, "/requests")) {
    sum += given::number(given::value_at(latency, "/count"));
  }
  return sum;
}

}  // namespace framefs

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "codec/core/error.h"
#include "fs/core/guarded.h"

// Only named here: its header costs each file that includes it seconds to compile.
namespace spdlog {
class logger;
}

namespace framefs::fs {

// How much a log may grow.  Users choose names and contents of files, and so what is logged of
// them.
struct LogLimits {
  std::uint64_t lines_per_file = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t burst_lines = std::numeric_limits<std::uint64_t>::max();
  std::chrono::milliseconds per_line{0};  // after a burst, one line in so long
  std::function<std::chrono::steady_clock::time_point()> now = &std::chrono::steady_clock::now;
};
// Of a daemon, which runs for months and serves files of strangers.
[[nodiscard]] LogLimits daemon_log_limits();

// The daemon's log.  Control characters of a text are written as \xNN: a file's name makes no lines
// of its own, and sends nothing to a terminal.
// Threads: any number.
class Log {
 public:
  explicit Log(std::shared_ptr<spdlog::logger> sink, LogLimits limits = {})
      : sink_(std::move(sink)), limits_(std::move(limits)) {}

  void info(std::string_view text);
  void warn(std::string_view text);

  // A failure to serve part of a file.  It is logged once for each place and cause, because many
  // readers meet the same damaged chunk.  `place` names the path, and `part` the chunk or the like.
  void failure(const std::string& file, std::string_view part, const codec::Error& error);
  void failure(const std::string& place, const codec::Error& error) { failure(place, "", error); }

 private:
  // So many places are remembered; past that, a line may come again.
  static constexpr std::size_t kMaxPlaces = 16384;

  enum class Level : std::uint8_t { info, warning, error, bug };
  // By hashes: paths may be long.
  struct Seen {
    std::unordered_set<std::size_t> lines;
    std::unordered_map<std::size_t, std::uint64_t> lines_of_file;
  };
  struct Rate {
    std::uint64_t spent = 0;  // of the burst
    std::uint64_t left_out = 0;
    std::chrono::steady_clock::time_point refilled;
  };
  void write(Level level, std::string_view text);
  void write_now(Level level, const std::string& text);

  const std::shared_ptr<spdlog::logger> sink_;
  const LogLimits limits_;
  Guarded<Seen> seen_;
  Guarded<Rate> rate_;
};

// `text` with its control characters as \xNN, and so with bytes that are no UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace framefs::fs

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
#include <vector>

#include "codec/core/error.h"
#include "fs/core/diagnostics/recent_lines.h"
#include "fs/core/threads/guarded.h"

// Forward declaration: spdlog's header costs each file that includes it seconds to compile.
namespace spdlog {
class logger;  // NOLINT(readability-identifier-naming): a name of spdlog
}

namespace framefs::fs {

// Limits of the log's growth. Users choose names and contents of files, and log lines depend on
// both.
struct LogLimits {
  std::uint64_t lines_per_file = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t burst_lines = std::numeric_limits<std::uint64_t>::max();
  std::chrono::milliseconds per_line{0};  // after a burst, one line per this interval
  std::function<std::chrono::steady_clock::time_point()> now = &std::chrono::steady_clock::now;
  bool keeps_lines = false;  // for Log::recent()
};
// The limits for a daemon, which runs for months and serves files of strangers.
[[nodiscard]] LogLimits daemon_log_limits();

// The daemon's log. Control characters of a text are written as \xNN. Hence the name of a file
// cannot start a log line of its own or send control codes to a terminal.
// Threads: any number.
class Log {
 public:
  explicit Log(std::shared_ptr<spdlog::logger> sink, LogLimits limits = {})
      : sink_(std::move(sink)), limits_(std::move(limits)) {}

  void info(std::string_view text);
  void warn(std::string_view text);

  // Logs a failure to serve part of a file, once for each place and cause, because many readers
  // meet the same damaged chunk.  `file` or `place` is a path; `part` names a part of the file,
  // such as a chunk.
  void failure(const std::string& file, std::string_view part, const codec::Error& error);
  void failure(const std::string& place, const codec::Error& error) { failure(place, "", error); }

  // The last lines that were written, if the limits say that the log keeps them.
  [[nodiscard]] RecentLines::Page recent(std::uint64_t from, std::size_t max_bytes) {
    return recent_.with([&](const RecentLines& lines) { return lines.page(from, max_bytes); });
  }

 private:
  // The number of places that are remembered. Beyond this number, a line may be logged again.
  static constexpr std::size_t kMaxPlaces = 16384;

  enum class Level : std::uint8_t { info, warning, error, bug };
  // Hashes only, because paths may be long.
  struct Seen {
    std::unordered_set<std::size_t> lines;
    std::unordered_map<std::size_t, std::uint64_t> lines_of_file;
  };
  struct Rate {
    std::uint64_t spent = 0;  // lines of the burst
    std::uint64_t left_out = 0;
    std::chrono::steady_clock::time_point refilled;
  };
  void write(Level level, std::string_view text);
  void write_now(Level level, const std::string& text);
  void keep(const char* level, const std::string& text);

  const std::shared_ptr<spdlog::logger> sink_;
  const LogLimits limits_;
  Guarded<Seen> seen_;
  Guarded<Rate> rate_;
  Guarded<RecentLines> recent_;
};

// Holds back the failures that this thread logs, and logs them when it is destroyed.  A reader of a
// file that another program changes may meet failures that are not damage.  Once it knows that the
// file has changed, it forgets them.
// Threads: the thread that constructed it destroys it.  If there are several, the last one holds.
class HeldFailures {
 public:
  HeldFailures();
  ~HeldFailures();
  HeldFailures(const HeldFailures&) = delete;
  HeldFailures& operator=(const HeldFailures&) = delete;

  // Forgets the failures so far.
  void forget() noexcept { failures_.clear(); }

 private:
  friend class Log;
  struct Failure {
    Log* log;
    std::string file;
    std::string part;
    codec::Error error;
  };
  HeldFailures* const outer_;
  std::vector<Failure> failures_;
};

// `text` with its control characters, and bytes that are not valid UTF-8, as \xNN.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace framefs::fs

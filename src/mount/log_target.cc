#include "src/mount/log_target.h"

#include <fcntl.h>
#include <paths.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include <fmt/core.h>
#include <spdlog/details/console_globals.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include "fs/fuse/confine/watchdog.h"

namespace framefs {
namespace {

constexpr const char* kCritical = "critical: ";

// Appends each message to a file.  spdlog's own file sink opens files by name, which the sandbox of
// the daemon forbids.
class FileSink final : public spdlog::sinks::base_sink<spdlog::details::console_mutex::mutex_t> {
 public:
  explicit FileSink(fs::UniqueFd file) : file_(std::move(file)) {}

  void continue_in(fs::UniqueFd file) {
    const std::scoped_lock hold(mutex_);
    ::dup3(file.get(), file_.get(), O_CLOEXEC);
  }
  [[nodiscard]] int descriptor() const { return file_.get(); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    // A daemon cannot report that its log fails.
    [[maybe_unused]] const auto written = ::write(file_.get(), text.data(), text.size());
  }
  void flush_() override {}

 private:
  const fs::UniqueFd file_;
};

// A connection to syslog, whose own functions are not for signal handlers.  Empty if there is none.
fs::UniqueFd syslog_connection() {
  fs::UniqueFd connection(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the sockets' interface wants it
  const auto* const place = reinterpret_cast<const sockaddr*>(&address);
  if (!connection || ::connect(connection.get(), place, sizeof(address)) != 0) return {};
  return connection;
}

class Target final : public LogTarget {
 public:
  Target(std::shared_ptr<FileSink> file, spdlog::sink_ptr sink, Direct direct,
         fs::UniqueFd syslog = {})
      : file_(std::move(file)),
        syslog_(std::move(syslog)),
        direct_(std::move(direct)),
        logger_(std::make_shared<spdlog::logger>("framefs", std::move(sink))) {
    logger_->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l: %v");
    logger_->flush_on(spdlog::level::info);
  }

  [[nodiscard]] std::shared_ptr<spdlog::logger> logger() const override { return logger_; }

  [[nodiscard]] Direct direct() const override { return direct_; }

  // No thread logs yet.
  void show_warnings() override {
    terminal_->set_level(spdlog::level::warn);
    terminal_->set_pattern("framefs: %v");
    logger_->sinks().push_back(terminal_);
  }
  // The level is atomic.
  void end_of_start() override { terminal_->set_level(spdlog::level::off); }

  void continue_in(fs::UniqueFd file) override {
    if (file_) file_->continue_in(std::move(file));
  }

 private:
  const std::shared_ptr<FileSink> file_;  // null if the log is not a file
  const fs::UniqueFd syslog_;             // empty if the log is not syslog
  const Direct direct_;
  const std::shared_ptr<spdlog::logger> logger_;
  const spdlog::sink_ptr terminal_ = std::make_shared<spdlog::sinks::stderr_sink_mt>();
};

}  // namespace

codec::Result<std::unique_ptr<LogTarget>> LogTarget::open(const MountCommand& command) {
  if (!command.log_file.empty()) {
    FRAMEFS_TRY(auto opened, fuse::open_log_file(command.log_file));
    const auto file = std::make_shared<FileSink>(std::move(opened));
    return std::make_unique<Target>(file, file, LogTarget::Direct{file->descriptor(), kCritical});
  }
  if (command.foreground) {
    return std::make_unique<Target>(nullptr, std::make_shared<spdlog::sinks::stderr_sink_mt>(),
                                    LogTarget::Direct{STDERR_FILENO, kCritical});
  }
  auto connection = syslog_connection();
  Direct direct{connection.get(),
                fmt::format("<{}>framefs[{}]: ", LOG_DAEMON | LOG_CRIT, ::getpid())};
  return std::make_unique<Target>(
      nullptr,
      std::make_shared<spdlog::sinks::syslog_sink_mt>("framefs", LOG_PID, LOG_DAEMON, false),
      std::move(direct), std::move(connection));
}

}  // namespace framefs

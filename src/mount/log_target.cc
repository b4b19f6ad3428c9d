#include "src/mount/log_target.h"

#include <unistd.h>

#include <mutex>
#include <utility>

#include <spdlog/details/console_globals.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include "fs/fuse/watchdog.h"

namespace framefs {
namespace {

// Appends each message to a file.  spdlog's own file sink opens files by name, which the sandbox of
// the daemon forbids.
class FileSink final : public spdlog::sinks::base_sink<spdlog::details::console_mutex::mutex_t> {
 public:
  explicit FileSink(fs::UniqueFd file) : file_(std::move(file)) {}

  void continue_in(fs::UniqueFd file) {
    const std::scoped_lock hold(mutex_);
    file_ = std::move(file);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    // A daemon cannot report that its log fails.
    [[maybe_unused]] const auto written = ::write(file_.get(), text.data(), text.size());
  }
  void flush_() override {}

 private:
  fs::UniqueFd file_;
};

class Target final : public LogTarget {
 public:
  Target(std::shared_ptr<FileSink> file, spdlog::sink_ptr sink)
      : file_(std::move(file)),
        logger_(std::make_shared<spdlog::logger>("framefs", std::move(sink))) {
    logger_->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l: %v");
    logger_->flush_on(spdlog::level::info);
  }

  [[nodiscard]] std::shared_ptr<spdlog::logger> logger() const override { return logger_; }

  void continue_in(fs::UniqueFd file) override {
    if (file_) file_->continue_in(std::move(file));
  }

 private:
  const std::shared_ptr<FileSink> file_;  // null if the log is not a file
  const std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace

codec::Result<std::unique_ptr<LogTarget>> LogTarget::open(const MountCommand& command) {
  if (!command.log_file.empty()) {
    FRAMEFS_TRY(auto opened, fuse::open_log_file(command.log_file));
    const auto file = std::make_shared<FileSink>(std::move(opened));
    return std::make_unique<Target>(file, file);
  }
  if (command.foreground) {
    return std::make_unique<Target>(nullptr, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  }
  return std::make_unique<Target>(nullptr, std::make_shared<spdlog::sinks::syslog_sink_mt>(
                                               "framefs", LOG_PID, LOG_DAEMON, false));
}

}  // namespace framefs

#include "src/mount/cmd_mount.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include "fs/core/error_map.h"
#include "fs/core/log.h"
#include "fs/fuse/session.h"
#include "src/cli/cli.h"
#include "src/cli/exit_codes.h"
#include "src/mount/daemon.h"
#include "src/mount/service_manager.h"

namespace framefs {
namespace {

std::shared_ptr<spdlog::logger> make_logger(const Command& command) {
  spdlog::sink_ptr sink;
  if (!command.log_file.empty()) {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(command.log_file);
  } else if (command.foreground) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::syslog_sink_mt>("framefs", LOG_PID, LOG_DAEMON, false);
  }
  auto logger = std::make_shared<spdlog::logger>("framefs", std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l: %v");
  logger->flush_on(spdlog::level::info);
  return logger;
}

int report(const codec::Error& error) {
  std::cerr << "framefs: " << fs::describe(error) << '\n';
  return kExitFailure;
}

// `daemon` is null if the program stays in the foreground.
int serve(const Command& command, std::unique_ptr<Daemon> daemon) {
  allow_most_open_files();
  fs::Log log(make_logger(command), fs::daemon_log_limits());
  const auto on_ready = [&] {
    log.info(fmt::format("{} is mounted on {}", command.mount.source.string(),
                         command.mount.mountpoint.string()));
    if (daemon) daemon->ready();
    tell_service_manager("READY=1");
  };
  const auto served = fuse::serve_mount(command.mount, log, on_ready);
  if (!served) return report(served.error());
  log.info(fmt::format("{} is unmounted", command.mount.mountpoint.string()));
  return kExitOk;
}

// mount(8) does not pass "dev" and "suid" to its helper: the absence of "nodev" and "nosuid" means
// them.  libfuse has the opposite defaults.
void allow_devices_and_setuid(std::vector<std::string>& words) {
  for (const std::string word : {"dev", "suid"}) {
    if (std::ranges::find(words, "no" + word) == words.end()) words.push_back(word);
  }
}

int run(Command command) {
  if (command.is_mount_helper && ::geteuid() == 0) {
    allow_devices_and_setuid(command.mount.vfs_options);
  }
  std::error_code none;
  command.mount.onto_file = std::filesystem::is_regular_file(command.mount.mountpoint, none);
  if (const auto possible = fuse::check_mount(command.mount); !possible) {
    return report(possible.error());
  }
  if (command.check_only) return kExitOk;
  if (command.foreground) return serve(command, nullptr);
  auto forked = Daemon::fork();
  if (!forked.child) return forked.parent_exit_code;
  return serve(command, std::move(forked.child));
}

}  // namespace

int run_mount(const std::vector<std::string>& arguments) {
  auto parsed = parse_command_line(arguments);
  return parsed.command ? run(std::move(*parsed.command)) : parsed.exit_code;
}

}  // namespace framefs

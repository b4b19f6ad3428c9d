#include "src/observe/cmd_list.h"

#include <sys/types.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "src/cli/arguments.h"
#include "src/cli/exit_codes.h"
#include "src/cli/printable.h"
#include "src/cli/text_output.h"
#include "src/observe/daemon_stats.h"
#include "src/observe/mount_daemon.h"
#include "src/observe/mount_list.h"

namespace framefs {
namespace {

using Json = nlohmann::ordered_json;

void add_options(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print one JSON array with an object for each mount");
}

// A mount's daemon, as far as it is known.
struct Served {
  std::optional<pid_t> pid;
  const char* state = "unknown";
  std::string source;
};

// Asks the daemon only if /proc does not show it, because a daemon may hang.
Served state_of_daemon(const FramefsMount& mount) {
  if (const auto daemon = find_daemon(mount)) {
    return {daemon->pid, daemon->is_stopped ? "stopped" : "running", mount.source};
  }
  // A mount that lies over it would answer.
  const auto top = framefs_mount_at(mount.mountpoint);
  if (!top || top->number != mount.number) return {std::nullopt, "unknown", mount.source};
  const auto stats = DaemonStats::of(mount.mountpoint);
  if (!stats) {
    return {std::nullopt, stats.error().sys == ENOTCONN ? "gone" : "unknown", mount.source};
  }
  const auto pid = stats->pid();
  return {pid, pid ? "running" : "unknown", stats->source().value_or(mount.source)};
}

std::string owner_of(const FramefsMount& mount) {
  const auto user = user_of(mount.filesystem_options);
  return user ? user_name(*user) : std::string("?");
}

std::string json_text(const std::vector<FramefsMount>& mounts) {
  auto list = Json::array();
  for (const auto& mount : mounts) {
    const auto daemon = state_of_daemon(mount);
    list.push_back({{"mountpoint", mount.mountpoint.string()},
                    {"source", daemon.source},
                    {"read_only", mount.is_read_only},
                    {"user", owner_of(mount)},
                    {"state", daemon.state},
                    {"pid", daemon.pid ? Json(*daemon.pid) : Json(nullptr)}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string table_text(const std::vector<FramefsMount>& mounts) {
  std::string text = fmt::format("{:>8}  {}  {}\n", "PID", "RO", "MOUNTPOINT <- SOURCE");
  for (const auto& mount : mounts) {
    const auto daemon = state_of_daemon(mount);
    const std::string_view state = daemon.state;
    auto who = daemon.pid ? std::to_string(*daemon.pid) : owner_of(mount);
    if (state == "stopped" || state == "gone") who = state;
    text += fmt::format("{:>8}  {}  {} <- {}\n", who, mount.is_read_only ? "ro" : "rw",
                        printable(mount.mountpoint.string()), printable(daemon.source));
  }
  return text;
}

constexpr CommandLine<bool> kListCommandLine{
    .name = "framefs list",
    .about = "Lists the mounts of framefs with their daemons.",
    .add_options = add_options};

}  // namespace

CommandSyntax list_syntax() { return kListCommandLine.syntax(); }

int run_list(std::span<const std::string> arguments) {
  const auto json = kListCommandLine.parse(arguments);
  if (!json) return json.error();
  const auto mounts = framefs_mounts();
  TextOutput out;
  out.put(*json ? json_text(mounts) : table_text(mounts));
  return out.end() ? kExitOk : kExitFailure;
}

}  // namespace framefs

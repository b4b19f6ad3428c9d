#include "src/observe/cmd_list.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "src/cli/arguments.h"
#include "src/cli/exit_codes.h"
#include "src/cli/printable.h"
#include "src/cli/text_output.h"
#include "src/observe/mount_list.h"

namespace framefs {
namespace {

using Json = nlohmann::ordered_json;

void add_options(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print one JSON array with an object for each mount");
}

// Returns the statistics of a mount; null if its daemon does not answer this user.
Json ask(const FramefsMount& mount) {
  const auto stats = read_stats(mount.mountpoint);
  return stats ? Json::parse(*stats, nullptr, false) : Json(nullptr);
}

std::string json_text(const std::vector<FramefsMount>& mounts) {
  auto list = Json::array();
  for (const auto& mount : mounts) {
    const auto stats = ask(mount);
    const bool is_known = stats.is_object();
    list.push_back({{"mountpoint", mount.mountpoint.string()},
                    {"source", is_known ? stats["source"] : Json(mount.source)},
                    {"read_only", mount.is_read_only},
                    {"pid", is_known ? stats["pid"] : Json(nullptr)}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string table_text(const std::vector<FramefsMount>& mounts) {
  std::string text = fmt::format("{:>8}  {}  {}\n", "PID", "RO", "MOUNTPOINT <- SOURCE");
  for (const auto& mount : mounts) {
    const auto stats = ask(mount);
    const bool is_known = stats.is_object();
    const auto pid = is_known ? stats["pid"].dump() : std::string("?");
    const auto source = is_known ? stats["source"].get<std::string>() : mount.source;
    text += fmt::format("{:>8}  {}  {} <- {}\n", pid, mount.is_read_only ? "ro" : "rw",
                        printable(mount.mountpoint.string()), printable(source));
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

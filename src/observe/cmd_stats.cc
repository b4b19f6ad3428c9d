#include "src/observe/cmd_stats.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include <CLI/CLI.hpp>

#include "src/cli/arguments.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/text_output.h"
#include "src/observe/mount_list.h"
#include "src/observe/stats_text.h"

namespace framefs {
namespace {

constexpr const char* kClearScreen = "\033[H\033[2J";

struct StatsCommand {
  std::string mountpoint;
  bool json = false;
  bool prometheus = false;
  double watch_s = 0;
};

void add_options(CLI::App& app, StatsCommand& command) {
  app.add_option("MOUNTPOINT", command.mountpoint, "A mount of framefs")->required();
  auto* const json = app.add_flag("--json", command.json, "Print one JSON object");
  app.add_flag("--prometheus", command.prometheus, "Print metrics in the text format of Prometheus")
      ->excludes(json);
  app.add_option("--watch", command.watch_s,
                 "Print again after each interval of this length, until interrupted")
      ->transform(seconds_up_to(86400))
      ->option_text("SECONDS");
}

// Prints the statistics once.
bool print(const StatsCommand& command) {
  const auto stats = read_stats(command.mountpoint);
  if (!stats) {
    print_messages({no_answer_text(command.mountpoint, stats.error())});
    return false;
  }
  TextOutput out;
  const bool is_live = command.watch_s > 0 && !command.json && ::isatty(STDOUT_FILENO) == 1;
  if (is_live) out.put(kClearScreen);
  out.put(command.json         ? *stats + "\n"
          : command.prometheus ? stats_metrics(*stats)
                               : stats_table(*stats));
  return out.end();
}

constexpr CommandLine<StatsCommand> kStatsCommandLine{
    .name = "framefs stats",
    .about = "Shows what the daemon of a mount has done since it was mounted.",
    .add_options = add_options};

}  // namespace

CommandSyntax stats_syntax() { return kStatsCommandLine.syntax(); }

int run_stats(std::span<const std::string> arguments) {
  auto parsed = kStatsCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  auto& command = *parsed;
  while (print(command)) {
    if (command.watch_s <= 0) return kExitOk;
    std::this_thread::sleep_for(std::chrono::duration<double>(command.watch_s));
  }
  return kExitFailure;
}

}  // namespace framefs

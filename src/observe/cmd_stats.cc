#include "src/observe/cmd_stats.h"

#include <unistd.h>

#include <chrono>
#include <thread>
#include <tuple>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "src/cli/arguments.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/text_output.h"
#include "src/observe/metrics_server.h"
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
  std::string serve;
};

CLI::Validator listen_address() {
  const auto check = [](const std::string& text) {
    if (parse_listen_address(text)) return std::string();
    return fmt::format("\"{}\" is not a place such as 127.0.0.1:9464, [::1]:9464 or :9464", text);
  };
  return CLI::Validator(check, "");
}

void add_options(CLI::App& app, StatsCommand& command) {
  app.add_option("MOUNTPOINT", command.mountpoint, "A mount of framefs")->required();
  auto* const json = app.add_flag("--json", command.json, "Print one JSON object");
  auto* const prometheus = app.add_flag("--prometheus", command.prometheus,
                                        "Print metrics in the text format of Prometheus")
                               ->excludes(json);
  auto* const watch =
      app.add_option("--watch", command.watch_s,
                     "Print again after each interval of this length, until interrupted")
          ->transform(seconds_up_to(86400))
          ->option_text("SECONDS");
  app.add_option("--serve", command.serve,
                 "Answer HTTP requests for /metrics with these metrics, until interrupted")
      ->check(listen_address())
      ->option_text("ADDRESS:PORT")
      ->excludes(json)
      ->excludes(prometheus)
      ->excludes(watch);
}

int serve(const StatsCommand& command) {
  // A mistake in the path is told now, and not by each answer.
  if (const auto stats = read_stats(command.mountpoint); !stats) {
    print_messages({no_answer_text(command.mountpoint, stats.error())});
    return kExitFailure;
  }
  const auto address = parse_listen_address(command.serve);
  const auto served = serve_metrics(command.mountpoint, *address, [](const std::string& url) {
    TextOutput out;
    out.put(fmt::format("the metrics are at {}\n", url));
    std::ignore = out.end();  // the server works without a reader of its output
  });
  if (served) return kExitOk;
  print_messages({fmt::format("{}: {}", command.serve, cause_text(served.error()))});
  return kExitFailure;
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
  if (!command.serve.empty()) return serve(command);
  while (print(command)) {
    if (command.watch_s <= 0) return kExitOk;
    std::this_thread::sleep_for(std::chrono::duration<double>(command.watch_s));
  }
  return kExitFailure;
}

}  // namespace framefs

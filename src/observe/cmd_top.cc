#include "src/observe/cmd_top.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "src/cli/arguments.h"
#include "src/cli/exit_codes.h"
#include "src/cli/printable.h"
#include "src/cli/size_text.h"
#include "src/cli/text_output.h"
#include "src/observe/daemon_stats.h"
#include "src/observe/mount_daemon.h"
#include "src/observe/mount_list.h"

namespace framefs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kHomeAndClear = "\033[H\033[2J";

struct TopCommand {
  double interval_s = 1;
  std::uint64_t count = 0;  // 0: until interrupted
};

void add_options(CLI::App& app, TopCommand& command) {
  app.add_option("--interval", command.interval_s, "The time between two tables")
      ->transform(seconds_up_to(3600))
      ->option_text("SECONDS")
      ->default_str("1");
  app.add_option("-n,--count", command.count,
                 "The number of tables to print; 0: prints until interrupted")
      ->check(whole_number(0, 1'000'000))
      ->option_text("N")
      ->default_str("0");
}

// The counters of a mount at one moment.
struct Sample {
  Clock::time_point at;
  pid_t pid = 0;  // another daemon counts anew
  std::uint64_t requests = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t hits = 0;
  std::uint64_t lookups = 0;  // in the cache
  std::uint64_t dirty_bytes = 0;
};

std::optional<Sample> sample_of(const FramefsMount& mount) {
  const auto daemon = find_daemon(mount);
  if (daemon && daemon->is_stopped) return std::nullopt;  // it would not answer
  const auto stats = DaemonStats::of(mount.mountpoint);
  if (!stats || !stats->pid()) return std::nullopt;
  const auto hits = stats->counter("/cache/hits");
  return Sample{.at = Clock::now(),
                .pid = *stats->pid(),
                .requests = stats->requests(),
                .read_bytes = stats->counter("/bytes_read"),
                .written_bytes = stats->counter("/bytes_written"),
                .hits = hits,
                .lookups = hits + stats->counter("/cache/misses"),
                .dirty_bytes = stats->counter("/writes/dirty_bytes")};
}

// `before` is null if there is no earlier sample of the daemon.
std::string row_of(const std::string& name, const Sample* before, const Sample& now) {
  const auto& base = before != nullptr ? *before : now;
  const auto seconds = std::chrono::duration<double>(now.at - base.at).count();
  const auto rate = [&](std::uint64_t from, std::uint64_t to) {
    return seconds > 0 ? static_cast<double>(to - from) / seconds : 0.0;
  };
  const auto lookups = now.lookups - base.lookups;
  const auto hits =
      lookups > 0 ? fmt::format("{}%", (now.hits - base.hits) * 100 / lookups) : std::string("-");
  constexpr double kMegabyte = 1e6;
  return fmt::format("{:>9.0f} {:>9.1f} {:>9.1f} {:>5} {:>10}  {}\n",
                     rate(base.requests, now.requests),
                     rate(base.read_bytes, now.read_bytes) / kMegabyte,
                     rate(base.written_bytes, now.written_bytes) / kMegabyte, hits,
                     size_for_people(now.dirty_bytes), printable(name));
}

using Samples = std::map<std::string, Sample>;

// Makes the table of this moment, and replaces `last`.
std::string table_of(Samples& last) {
  auto text = fmt::format("{:>9} {:>9} {:>9} {:>5} {:>10}  {}\n", "REQ/S", "MB/S READ", "WRITTEN",
                          "HITS", "DIRTY", "MOUNTPOINT");
  Samples samples;
  for (const auto& mount : framefs_mounts()) {
    const auto name = mount.mountpoint.string();
    const auto now = sample_of(mount);
    if (!now) {
      text += fmt::format("{:>9} {:>9} {:>9} {:>5} {:>10}  {}\n", "-", "-", "-", "-", "-",
                          printable(name));
      continue;
    }
    const auto known = last.find(name);
    const bool is_same = known != last.end() && known->second.pid == now->pid;
    text += row_of(name, is_same ? &known->second : nullptr, *now);
    samples.emplace(name, *now);
  }
  last = std::move(samples);
  return text;
}

constexpr CommandLine<TopCommand> kTopCommandLine{
    .name = "framefs top",
    .about =
        "Shows what the mounts of framefs do at present: requests and megabytes in a second, "
        "the share of look-ups that the cache answers, and written bytes in memory.",
    .add_options = add_options};

}  // namespace

CommandSyntax top_syntax() { return kTopCommandLine.syntax(); }

int run_top(std::span<const std::string> arguments) {
  const auto command = kTopCommandLine.parse(arguments);
  if (!command) return command.error();
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  Samples last;
  table_of(last);  // rates need an earlier moment
  for (std::uint64_t printed = 0; command->count == 0 || printed < command->count; ++printed) {
    std::this_thread::sleep_for(std::chrono::duration<double>(command->interval_s));
    auto text = table_of(last);
    if (is_terminal) text.insert(0, kHomeAndClear);
    TextOutput out;
    out.put(text);
    if (!out.end()) return kExitFailure;
  }
  return kExitOk;
}

}  // namespace framefs

#include "src/warm/cmd_warm.h"

#include <optional>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/net/store/source_url.h"
#include "src/cli/arguments.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/progress_bar.h"
#include "src/cli/remote_access.h"
#include "src/cli/remote_opener.h"
#include "src/observe/mount_list.h"
#include "src/warm/file_readers.h"
#include "src/warm/warm_walk.h"

namespace framefs {
namespace {

struct WarmCommand {
  std::string source;
  std::vector<std::string> paths;
  fs::RemoteOptions remote;
  bool quiet = false;
};

void add_options(CLI::App& app, WarmCommand& command) {
  auto& remote = command.remote;
  app.add_option("SOURCE", command.source, "The mountpoint of a URL, or a URL with --cache-dir")
      ->transform(path_or_url())
      ->required();
  app.add_option("PATH", command.paths,
                 "Files and directories in SOURCE, as a mount shows them; none for all of SOURCE");
  app.add_option("--cache-dir", remote.cache_folder,
                 "The directory that later mounts of the URL use as --cache-dir")
      ->option_text("DIR");
  app.add_option("--cache-disk", remote.cache_disk_bytes,
                 "The size limit of that directory, such as 500M or 20G")
      ->transform(size_text())
      ->option_text("SIZE")
      ->default_str("10G");
  app.add_flag("-q,--quiet", command.quiet, "Show no progress");
  add_remote_access_options(app, remote);
}

std::optional<std::string> misplaced_option(const CLI::App& app, const WarmCommand& command) {
  if (auto why = misplaced_remote_option(app, command.source)) return why;
  const bool has_folder = app.get_option("--cache-dir")->count() > 0;
  if (net::is_source_url(command.source)) {
    return has_folder ? std::nullopt
                      : std::optional<std::string>("a URL needs --cache-dir, the cache to fill");
  }
  constexpr const char* kCacheOptions[] = {"--cache-dir", "--cache-disk"};
  const auto name = first_given(app, kCacheOptions);
  return name ? std::optional(*name + " needs a SOURCE that is a URL; a mount has its own")
              : std::nullopt;
}

constexpr CommandLine<WarmCommand> kWarmCommandLine{
    .name = "framefs warm",
    .about = "Fills the disk cache of a mount of a URL, or of a URL, by reading files of it.",
    .add_options = add_options,
    .misplaced = misplaced_option};

// Walks all paths.  Returns whether all of it was read.
template <class Walk>
bool warm_all(const WarmCommand& command, Walk& walk) {
  ProgressBar bar("read", std::nullopt, command.quiet);
  const auto tick = [&](std::uint64_t bytes) { bar.update(bytes); };
  FileReaders readers([](const std::string& path, const codec::Error& error) {
    print_messages({failure_text(path, error)});
  });
  const std::vector<std::string> whole(1);
  for (const auto& path : command.paths.empty() ? whole : command.paths) {
    const auto added = walk.add(path, readers, tick);
    if (!added) readers.fail(path.empty() ? command.source : path, added.error());
  }
  readers.finish(tick);
  return !readers.has_failed();
}

bool warm_url(const WarmCommand& command) {
  RemoteOpener remote(command.remote);
  CollectedLog log;
  fs::MountOptions options;
  options.source = command.source;
  const auto tree = remote.tree(options, log.log());
  if (!tree) {
    print_messages(log.take_failure(net::shown_source(command.source), tree.error()));
    return false;
  }
  FarWalk walk(**tree);
  const bool all = warm_all(command, walk);
  (*tree)->flush_disk_cache();
  print_messages(log.take_lines());  // the chunks that are damaged
  return all;
}

bool warm_mount(const WarmCommand& command) {
  const auto mount = framefs_mount_at(place_of_mount(command.source));
  if (!mount) {
    print_messages(
        {fmt::format("{}: this is neither a URL nor a mountpoint of framefs", command.source)});
    return false;
  }
  MountWalk walk(command.source);
  return warm_all(command, walk);
}

}  // namespace

CommandSyntax warm_syntax() { return kWarmCommandLine.syntax(); }

int run_warm(std::span<const std::string> arguments) {
  const auto parsed = kWarmCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  const bool all = net::is_source_url(parsed->source) ? warm_url(*parsed) : warm_mount(*parsed);
  return all ? kExitOk : kExitFailure;
}

}  // namespace framefs

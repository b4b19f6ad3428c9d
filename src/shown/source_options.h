#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "codec/core/result.h"
#include "fs/core/mount_options.h"
#include "src/cli/remote_access.h"
#include "src/shown/shown_tree.h"

namespace framefs {

// The arguments of a command that shows a part of a SOURCE without a mount.
struct SourceCommand {
  std::string source;
  std::vector<std::string> paths;  // below SOURCE, as a mount shows them
  fs::RemoteOptions remote;
};

// Adds SOURCE and PATH, and the options for URLs.  `about_paths` is the help of PATH.
void add_source_options(CLI::App& app, SourceCommand& command, const std::string& about_paths);
// For CommandLine::misplaced.
template <class Command>
std::optional<std::string> misplaced_source_option(const CLI::App& app, const Command& command) {
  return misplaced_remote_option(app, command.source);
}

// Opens SOURCE and calls show(tree, path) for each path, or for the empty one if there is none.
// Prints what went wrong, but not that the reader of standard output has closed it, which ends the
// work.  Returns whether all of it succeeded.
bool show_each(const SourceCommand& command,
               const std::function<codec::Status(ShownTree&, const std::string&)>& show);

}  // namespace framefs

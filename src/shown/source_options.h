#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "fs/core/mount_options.h"

namespace framefs {

// The arguments of a command that shows a part of a SOURCE without a mount.
struct SourceCommand {
  std::string source;
  std::vector<std::string> paths;  // below SOURCE, as a mount shows them
  fs::RemoteOptions remote;
};

// Adds SOURCE and PATH, and the options for URLs.  `about_paths` is the help of PATH.
void add_source_options(CLI::App& app, SourceCommand& command, const std::string& about_paths);

}  // namespace framefs

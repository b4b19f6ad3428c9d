#pragma once

#include <CLI/CLI.hpp>

#include "src/cli/tree_walk.h"

namespace framefs {

// Adds the options of a command that takes directories: --include and --exclude.
void add_filter_options(CLI::App& app, TreeFilter& filter);

}  // namespace framefs

#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs stats ARGUMENTS`: shows the statistics of a mount.  Returns the exit code; messages have
// been printed.
int run_stats(std::span<const std::string> arguments);

CommandSyntax stats_syntax();

}  // namespace framefs

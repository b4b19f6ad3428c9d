#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs compact ARGUMENTS`: rewrites frames without dead space.  Returns the exit code; all
// messages have been printed.
int run_compact(std::span<const std::string> arguments);

CommandSyntax compact_syntax();

}  // namespace framefs

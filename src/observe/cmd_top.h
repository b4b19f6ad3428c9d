#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs top ARGUMENTS`: shows what all mounts do, again and again.  Returns the exit code;
// messages have been printed.
int run_top(std::span<const std::string> arguments);

CommandSyntax top_syntax();

}  // namespace framefs

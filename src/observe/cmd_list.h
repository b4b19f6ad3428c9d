#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs list ARGUMENTS`: lists mounts.  Returns the exit code; messages have been printed.
int run_list(std::span<const std::string> arguments);

CommandSyntax list_syntax();

}  // namespace framefs

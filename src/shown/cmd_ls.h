#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs ls ARGUMENTS`: lists the names that a mount of SOURCE would show.  Returns the exit
// code; all messages have been printed.
int run_ls(std::span<const std::string> arguments);

CommandSyntax ls_syntax();

}  // namespace framefs

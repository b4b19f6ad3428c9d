#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs cat ARGUMENTS`: writes files of SOURCE to standard output.  Returns the exit code; all
// messages have been printed.
int run_cat(std::span<const std::string> arguments);

CommandSyntax cat_syntax();

}  // namespace framefs

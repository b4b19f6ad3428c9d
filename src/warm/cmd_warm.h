#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs warm ARGUMENTS`: fills the disk cache of a mount, or of a URL.  Returns the exit code;
// all messages have been printed.
int run_warm(std::span<const std::string> arguments);

CommandSyntax warm_syntax();

}  // namespace framefs

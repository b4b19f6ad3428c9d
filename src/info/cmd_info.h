#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs info ARGUMENTS`: prints the properties of frames and containers.  Returns the exit code;
// all messages have been printed.
int run_info(std::span<const std::string> arguments);

CommandSyntax info_syntax();

}  // namespace framefs

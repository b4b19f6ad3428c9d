#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs check ARGUMENTS`: decodes frames completely and salvages damaged frames.  Returns the
// exit code; messages have been printed.
int run_check(std::span<const std::string> arguments);

CommandSyntax check_syntax();

}  // namespace framefs

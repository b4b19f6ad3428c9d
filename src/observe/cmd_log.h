#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs log ARGUMENTS`: shows the last lines of a mount's log.  Returns the exit code; messages
// have been printed.
int run_log(std::span<const std::string> arguments);

CommandSyntax log_syntax();

}  // namespace framefs

#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs doctor ARGUMENTS`: says what this machine and a path lack for mounts.  Returns the exit
// code; messages have been printed.
int run_doctor(std::span<const std::string> arguments);

CommandSyntax doctor_syntax();

}  // namespace framefs

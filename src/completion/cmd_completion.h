#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"
#include "src/completion/completion_scripts.h"

namespace framefs {

// `framefs completion SHELL`: prints a completion script for `program`.  Returns the exit code.
int run_completion(std::span<const std::string> arguments, const CompletedProgram& program);

CommandSyntax completion_syntax();

}  // namespace framefs

#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs index URL`: writes the manifest of a remote SOURCE.  Returns the exit code; messages
// have been printed.
int run_index(std::span<const std::string> arguments);

CommandSyntax index_syntax();

}  // namespace framefs

#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs unpack ARGUMENTS`: unpacks frames and containers into plain files.  Returns the exit
// code; all messages have been printed.
int run_unpack(std::span<const std::string> arguments);

CommandSyntax unpack_syntax();

}  // namespace framefs

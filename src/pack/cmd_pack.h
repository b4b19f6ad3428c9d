#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs pack ARGUMENTS`: packs plain files into frames.  Returns the exit code; all messages
// have been printed.
int run_pack(std::span<const std::string> arguments);

CommandSyntax pack_syntax();

}  // namespace framefs

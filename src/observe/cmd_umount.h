#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs umount ARGUMENTS`: unmounts.  Returns the exit code; messages have been printed.
int run_umount(std::span<const std::string> arguments);

CommandSyntax umount_syntax();

}  // namespace framefs

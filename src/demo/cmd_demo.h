#pragma once

#include <span>
#include <string>

#include "src/cli/command_syntax.h"

namespace framefs {

// `framefs demo DIR`: makes a small sample dataset.  Returns the exit code; messages have been
// printed.
int run_demo(std::span<const std::string> arguments);

CommandSyntax demo_syntax();

}  // namespace framefs

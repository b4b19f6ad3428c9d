#pragma once

#include <span>
#include <string>

namespace framefs {

// `framefs compact ARGUMENTS`: rewrites frames without dead space.  Returns the exit code; all
// messages have been printed.
int run_compact(std::span<const std::string> arguments);

}  // namespace framefs

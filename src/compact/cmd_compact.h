#pragma once

#include <span>
#include <string>

namespace framefs {

// `framefs compact ARGUMENTS`: rewrites frames without dead space.  Returns the exit code; whatever
// there is to say has been said.
int run_compact(std::span<const std::string> arguments);

}  // namespace framefs

#pragma once

#include <span>
#include <string>

namespace framefs {

// `framefs info ARGUMENTS`: says what is in frames and stores.  Returns the exit code; whatever there
// is to say has been said.
int run_info(std::span<const std::string> arguments);

}  // namespace framefs

#pragma once

#include <span>
#include <string>

namespace framefs {

// `framefs info ARGUMENTS`: prints the properties of frames and containers.  Returns the exit code;
// all messages have been printed.
int run_info(std::span<const std::string> arguments);

}  // namespace framefs

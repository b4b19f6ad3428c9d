#pragma once

#include <span>
#include <string>

namespace framefs {

// `framefs unpack ARGUMENTS`: writes frames and stores out as plain files.  Returns the exit code;
// whatever there is to say has been said.
int run_unpack(std::span<const std::string> arguments);

}  // namespace framefs

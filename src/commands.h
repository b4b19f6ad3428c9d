#pragma once

#include <string>
#include <vector>

namespace framefs {

// Runs the command that the first argument names; without a command, mounts.  `arguments` includes
// the program's name.  A SOURCE with the name of a command can be given as ./NAME or after the word
// "mount".  Returns the exit code; all messages have been printed.
int run_framefs(const std::vector<std::string>& arguments);

}  // namespace framefs

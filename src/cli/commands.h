#pragma once

#include <string>
#include <vector>

namespace framefs {

// Runs the command that the first of the arguments names, or else mounts; `arguments` includes the
// program's name.  A SOURCE that has the name of a command can be had as ./NAME, or behind the word
// "mount".  Returns the exit code; whatever there is to say has been said.
int run_framefs(const std::vector<std::string>& arguments);

// The commands with what they do, a line for each, for the end of --help.
std::string command_list();

}  // namespace framefs

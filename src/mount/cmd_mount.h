#pragma once

#include <string>
#include <vector>

namespace framefs {

// `framefs [mount] ARGUMENTS` and mount.framefs: mounts frames.  `arguments` includes the program's
// name, which distinguishes the two.  `command_list`, the list of all commands, ends the text of
// --help.  Returns the exit code; all messages have been printed.
int run_mount(const std::vector<std::string>& arguments, const std::string& command_list);

}  // namespace framefs

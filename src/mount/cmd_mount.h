#pragma once

#include <string>
#include <vector>

namespace framefs {

// `framefs [mount] ARGUMENTS`, and mount.framefs: mounts frames.  `arguments` includes the program's
// name, which tells the two apart.  Returns the exit code; whatever there is to say has been said.
int run_mount(const std::vector<std::string>& arguments);

}  // namespace framefs

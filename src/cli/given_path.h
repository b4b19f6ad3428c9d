#pragma once

#include <string>

namespace framefs {

// A path of the command line without the slashes at its end.  Shells complete them for directories,
// such as that of a sparse frame, which has a name as a file has.
inline std::string given_path(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace framefs

#pragma once

#include <cstdlib>
#include <string>

namespace framefs {

// The folder for temporary files: TMPDIR, or /tmp if that is unset or empty.
inline std::string temporary_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

}  // namespace framefs

#include "src/cli/cause_text.h"

#include <string_view>
#include <system_error>

#include "fs/core/error_map.h"

namespace framefs {

std::string cause_text(const codec::Error& error) {
  const std::string_view field = error.field;
  if (error.kind == codec::Errc::bad_field && field == "frame magic") {
    return "this is not a Blosc2 frame (wrong magic)";
  }
  // The name of the call adds nothing to "No such file or directory".
  if (error.kind == codec::Errc::system && (field == "open" || field == "stat")) {
    return std::generic_category().message(error.sys);
  }
  return fs::describe(error);
}

}  // namespace framefs

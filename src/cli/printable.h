#pragma once

#include <string>
#include <string_view>

namespace framefs {

// Makes text from an untrusted file or of its name safe for a terminal: control characters become
// \x1b and the like.
std::string printable(std::string_view text);

}  // namespace framefs

#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "fs/core/mount_options.h"

namespace framefs {

// "GLOB:key=value,key=value": what new files become whose names the glob matches; what is not told is
// that of `defaults`.  Between the keys ";" will do as well, for options that end at a comma.
// Errors: a sentence for the user.
std::expected<fs::NewFileRule, std::string> parse_new_file_rule(
    std::string_view text, const fs::NewFrameOptions& defaults);

}  // namespace framefs

#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "fs/core/mount_options.h"

namespace framefs {

// A rule of the command line.
struct ParsedRule : fs::NewFileRule {
  bool as_is = false;  // the glob is one of --as-is
};

// Parses "GLOB:key=value,key=value": the options of new files with names that the glob matches.  A
// key that is not given keeps its value from `defaults`.  Keys may also be separated by ";", for
// options that end at a comma.
// Errors: a sentence for the user.
std::expected<ParsedRule, std::string> parse_new_file_rule(std::string_view text,
                                                           const fs::NewFrameOptions& defaults);

}  // namespace framefs

#pragma once

#include <string>
#include <string_view>

namespace framefs::fs {

// Globs of paths below a mount or a tree, which --plain, --as-is, rules and the filters of commands
// have.  A glob is one of fnmatch(3),
// where "*" matches slashes too.  A glob without a slash is matched against the last name of a
// path, any other glob against the whole path.  Paths are relative to the mount or tree and begin
// with no slash.

[[nodiscard]] bool matches_glob(const std::string& glob, const std::string& path);

// Whether a glob with a slash could match a path below `directory`.  May say so of a glob that
// matches none.
[[nodiscard]] bool may_match_below(std::string_view glob, std::string_view directory);

}  // namespace framefs::fs

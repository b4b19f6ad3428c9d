#include "fs/source/as_is_names.h"

#include <algorithm>

#include "fs/source/path_glob.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {

bool AsIsNames::covers(const std::string& path) const {
  if (globs_.empty()) return false;
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto name = path.substr(begin, end - begin);
    const auto above = path.substr(0, end);
    const auto is_match = [&](const std::string& glob) { return matches_glob(glob, above); };
    const bool has_suffix = expected_content(name) != Expected::nothing;
    if (has_suffix && std::ranges::any_of(globs_, is_match)) return true;
    begin = end + 1;
  }
  return false;
}

bool AsIsNames::depends_on(const std::string& directory) const {
  return std::ranges::any_of(
      globs_, [&](const std::string& glob) { return may_match_below(glob, directory); });
}

}  // namespace framefs::fs

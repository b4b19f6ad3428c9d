#include "fs/source/path_glob.h"

#include <fnmatch.h>

namespace framefs::fs {
namespace {

std::string_view without_root_slash(std::string_view glob) {
  return glob.starts_with('/') ? glob.substr(1) : glob;
}

bool has_slash(std::string_view glob) { return glob.find('/') != std::string_view::npos; }

}  // namespace

bool matches_glob(const std::string& glob, const std::string& path) {
  const auto text = has_slash(glob) ? path : path.substr(path.rfind('/') + 1);
  return ::fnmatch(std::string(without_root_slash(glob)).c_str(), text.c_str(), 0) == 0;
}

bool may_match_below(std::string_view glob, std::string_view directory) {
  if (!has_slash(glob)) return false;
  const auto pattern = without_root_slash(glob);
  const auto prefix = std::string(directory) + '/';
  std::size_t at = 0;
  for (const char c : prefix) {
    if (at == pattern.size()) return false;
    // From here on, the glob can match anything; a set of characters is taken for "*".
    if (pattern[at] == '*' || pattern[at] == '[') return true;
    if (pattern[at] == '\\' && at + 1 < pattern.size())
      ++at;
    else if (pattern[at] == '?') {
      ++at;
      continue;
    }
    if (pattern[at] != c) return false;
    ++at;
  }
  return at < pattern.size();
}

}  // namespace framefs::fs

#include "fs/tree/names/name_rules.h"

#include <algorithm>
#include <cerrno>

#include <fmt/core.h>

#include "fs/core/files/file.h"

namespace framefs::fs {

Status NameRules::check_new(const std::string& directory, const std::string& name,
                            Expected expected, ShownAs shown_as) const {
  const bool is_kept =
      shown_as == ShownAs::container ||
      (keep_suffix_ && (expected == Expected::frame || shown_as != ShownAs::itself));
  if (is_hidden(name) || (expected != Expected::nothing && !is_kept)) {
    explain(directory, name);
    return system_error_of(EPERM, "name with the suffix of a frame");
  }
  return {};
}

void NameRules::explain(const std::string& directory, const std::string& name) const {
  const bool is_first = explained_.with([&](std::unordered_set<std::string>& all) {
    return all.size() < kMaxExplained && all.insert(directory).second;
  });
  if (!is_first) return;
  log_.warn(fmt::format(
      "{}: refused (EPERM), because the mount compresses new files itself; copy frames into "
      "SOURCE, or mount with --as-is '*{}' to store and show files with this suffix as they are",
      path_in(directory, name), name.substr(std::min(name.rfind('.'), name.size()))));
}

Status NameRules::check_kept_as_is(const std::string& from, const std::string& to,
                                   bool is_directory) const {
  if (as_is_.is_empty() || from == to) return {};
  const bool was_kept = as_is_.covers(from);
  const bool changes = was_kept != as_is_.covers(to);
  const bool depends =
      is_directory && !was_kept && (as_is_.depends_on(from) || as_is_.depends_on(to));
  if (changes || depends) return system_error_of(EXDEV, "name that --as-is covers");
  return {};
}

Status NameRules::check_listed(const std::string& name, const NameMap::Found& found) const {
  if (found.is_listed) return {};
  auto refused = system_error_of(
      EPERM,
      "a frame cannot be renamed, replaced or removed by its full name; use the listed name");
  log_.failure(name, refused.error());
  return refused;
}

}  // namespace framefs::fs

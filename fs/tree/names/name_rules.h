#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>

#include "fs/core/diagnostics/log.h"
#include "fs/core/mount_options.h"
#include "fs/core/threads/guarded.h"
#include "fs/source/as_is_names.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/name_map.h"

namespace framefs::fs {

// The names that programs may give to entries, and may change.  The log explains a refused name,
// because programs say no more than "Operation not permitted".
// Threads: any number.
class NameRules {
 public:
  // Lifetime: `as_is` and `log` outlive the rules.
  NameRules(const MountOptions& options, const AsIsNames& as_is, Log& log)
      : keep_suffix_(options.keep_suffix), as_is_(as_is), log_(log) {}

  // Refuses a new name if SOURCE, which looks for `expected` under it, would not show the entry as
  // `shown_as`.  Such names are reserved for programs that write to SOURCE directly.  `directory`
  // is a path in SOURCE.  Errors: EPERM, which the log explains once for each directory.
  [[nodiscard]] Status check_new(const std::string& directory, const std::string& name,
                                 Expected expected, ShownAs shown_as) const;
  // An entry that is shown as it is stored stays so under a new name, and no other becomes one:
  // their contents differ.  Programs copy the file where a rename or a link gives EXDEV.  `from`
  // and `to` are paths in SOURCE.  Errors: EXDEV.
  [[nodiscard]] Status check_kept_as_is(const std::string& from, const std::string& to,
                                        bool is_directory) const;
  // Refuses to change the full name of a frame that is listed under a shorter one.  The full name
  // exists only for links in SOURCE that lead to it.  Errors: EPERM.
  [[nodiscard]] Status check_listed(const std::string& name, const NameMap::Found& found) const;

 private:
  void explain(const std::string& directory, const std::string& name) const;

  // Constant after construction.
  const bool keep_suffix_;
  const AsIsNames& as_is_;
  // Self-synchronised.
  Log& log_;
  // Guarded: the directories in which a name was refused; kMaxExplained at most.
  mutable Guarded<std::unordered_set<std::string>> explained_;
  static constexpr std::size_t kMaxExplained = 1024;
};

}  // namespace framefs::fs

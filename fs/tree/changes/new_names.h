#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "fs/source/source_probe.h"
#include "fs/tree/changes/parent_folders.h"
#include "fs/tree/names/name_map.h"

namespace framefs::fs {

// Finds the names in SOURCE for entries that are created, linked or moved: each entry must be shown
// as the caller asks.  That depends on the name and on the entry's content, which is known here, or
// is probed.
// Errors of all members: those of NameMap::place().
// Threads: any number.
class NewNames {
 public:
  // Lifetime: both outlive the `NewNames`.
  NewNames(SourceProbe& probe, const NameMap& names) : probe_(probe), names_(names) {}

  // For a new frame.  `leaving` are entries of the folder that will be removed.
  [[nodiscard]] Result<std::string> for_frame(const Folder& folder, const std::string& name,
                                              const FrameSummary& frame,
                                              std::vector<std::string> leaving) const;
  // For a new array of NumPy.
  [[nodiscard]] Result<std::string> for_array(const Folder& folder, const std::string& name) const;
  // For one more name of a file, which is open and shown as `asked`.  `source_name` is its present
  // name in SOURCE.
  [[nodiscard]] Result<std::string> for_link(const Folder& folder, const ShownName& asked, int file,
                                             const std::string& source_name) const;
  // For an entry that is moved, perhaps to the place of another entry.
  [[nodiscard]] Result<std::string> for_moved(const NamedEntry& moved, const ParentFolder& to,
                                              const std::string& new_name,
                                              const NameMap::Found* replaced) const;

 private:
  SourceProbe& probe_;
  const NameMap& names_;
};

}  // namespace framefs::fs

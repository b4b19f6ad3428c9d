#pragma once

#include <string>

#include "fs/tree/changes/array_candidates.h"
#include "fs/tree/changes/entry_changes.h"
#include "fs/tree/changes/new_files.h"
#include "fs/tree/changes/parent_folders.h"
#include "fs/tree/nodes/node_locator.h"

namespace framefs::fs {

// Puts arrays and frames of bytes in each other's place; see ArrayConverter.
//
// For a moment both exist, and the names of both are wanted.  The array then has the name
// (NameMap), so that the name always leads to one of them.
//
// Threads: any number.
class ArrayPlaces {
 public:
  // Lifetime: all referenced objects outlive the `ArrayPlaces`.
  struct Parts {
    const ParentFolders& parents;
    NodeLocator& locator;
    const ArrayCandidates& candidates;
    const NewFiles& new_files;
    EntryChanges& entries;
  };
  explicit ArrayPlaces(const Parts& parts) : parts_(parts) {}

  // Puts an array in the place of the frame that `node` shows as `name`.  `array` is a file without
  // a name, which has the bytes and the attributes that the frame had in the state `from`.
  // `has_ended`: no requests are served any more, and handles of the file do not matter.
  // Errors: system; EBUSY if the frame is in use; ESTALE if it has changed, or is no longer there;
  //   EEXIST if the array's name is taken.
  Status put(const Node& node, const std::string& name, int array, const FileIdentity& from,
             bool has_ended);
  // To be called before a file is truncated to no bytes by its name.  If the file is an array, and
  // a rule makes arrays of files with its name, puts an empty frame in its place.  The kernel then
  // looks the name up again, and truncates that frame.
  // Errors: system; ESTALE after this has succeeded; EPERM if the array has other names.
  Status replace_truncated(const Node& node);

 private:
  struct NewArray {
    int fd = -1;  // of a file without a name
    std::string name;
  };
  Status exchange(const Node& node, const NamedEntry& entry, const NewArray& array,
                  const FileIdentity& from);

  const Parts parts_;
};

}  // namespace framefs::fs

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "fs/core/mount_options.h"
#include "fs/source/as_is_names.h"
#include "fs/tree/changes/new_names.h"
#include "fs/tree/changes/parent_folders.h"
#include "fs/tree/content/frame_writers.h"
#include "fs/write/new_frame_policy.h"

namespace framefs::fs {

// The bits of a mode that are not the file's type.
inline constexpr mode_t kModeBits = 07777;

// The requesting process.  It owns a new entry if the daemon may change the entry's owner.
struct Caller {
  uid_t user = 0;
  gid_t group = 0;
  mode_t umask = 0;
};

// Decides how new files are stored, and creates them.
// Errors of all members: system.
// Threads: any number.
class NewFiles {
 public:
  // Lifetime: all referenced objects outlive the `NewFiles`.
  struct Parts {
    const ParentFolders& parents;
    SourceProbe& probe;
    const NewNames& names;
    const AsIsNames& as_is;
    const NewFramePolicy& policy;
  };
  NewFiles(const MountOptions& options, const Parts& parts)
      : has_acls_(options.acl), parts_(parts) {}

  // The mode of an entry for which the caller asks for `mode`.
  [[nodiscard]] mode_t mode_of(const ParentFolder& parent, mode_t mode, const Caller& caller) const;
  // How the file is stored that is shown as `name`.  `folder` is the folder of `parent`.  `leaving`
  // are entries of it that will be removed.
  [[nodiscard]] Result<NewFile> plan(const ParentFolder& parent, const Folder& folder,
                                     const std::string& name,
                                     std::vector<std::string> leaving = {}) const;
  // The name in SOURCE of an array that is shown as `name`.
  [[nodiscard]] Result<std::string> array_name(const Folder& folder,
                                               const std::string& name) const {
    return parts_.names.for_array(folder, name);
  }
  // Creates the file and opens it for reading and writing, whatever its mode.  Completes `plan`.
  Result<BackingFile> make(const ParentFolder& parent, NewFile& plan, mode_t mode,
                           const Caller& caller) const;
  // The summary of a frame without data, as a probe would find it.
  static FrameSummary summary_of(const NewFrame& frame);

 private:
  const bool has_acls_;  // the mount shows access control lists
  const Parts parts_;
};

}  // namespace framefs::fs

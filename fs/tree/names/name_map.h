#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/threads/task_threads.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/source/folder.h"
#include "fs/tree/names/name_choice.h"
#include "fs/tree/names/shown_listing.h"
#include "fs/tree/names/shown_names.h"

namespace framefs::fs {

// Maps names in SOURCE to names in the mount, and back.  Both directions depend only on the
// folder's contents.  A frame gets a name that it wants unless another entry has that name or wants
// it too; otherwise the frame keeps its own name.  If an array and frames of bytes want the name of
// a NumPy file, the array gets it: one can take the place of the other without a moment in which
// the name leads to nothing.
// Threads: any number.
class NameMap {
 public:
  // With `namers`, folders do not change, and their entries are named while they are read.
  // Lifetime: both outlive this object.
  NameMap(WorkerPool& pool, bool keep_suffix, ArrayViews arrays, TaskThreads* namers = nullptr)
      : pool_(pool), choice_(keep_suffix, arrays), namers_(namers) {}

  // All shown entries of the folder.  Possible frames are probed in parallel.  Errors: system.
  [[nodiscard]] Result<std::vector<DirectoryEntry>> list(const Folder& folder) const;
  // The same for readers who take them piece by piece.  If entries of the folder have positions, or
  // do not change, they are named when they are read.
  // Lifetime: `folder` and this object outlive the listing.
  [[nodiscard]] Result<std::shared_ptr<const ShownListing>> open(const Folder& folder) const;

  struct Found {
    std::string source_name;
    ShownAs shown_as = ShownAs::itself;
    SourceEntry entry;
    bool is_listed = true;  // false: the frame is listed under a shorter name
  };
  // The entry that is shown as `shown_name`, or the frame that has this full name in SOURCE: links
  // in SOURCE lead to full names.  Errors: system; ENOENT if there is none.
  [[nodiscard]] Result<Found> find(const Folder& folder, const std::string& shown_name) const;

  // An entry that is to get a name.
  struct Newcomer {
    ShownName asked;          // how it must be shown
    std::string source_name;  // its current name in SOURCE; empty if it has none
    std::function<FrameSummary(Expected)>
        summary;                          // its content, under a name that implies the given one
    std::vector<std::string> leaving;     // entries of the folder that will be removed
    std::optional<std::string> replaced;  // the one of `leaving` to replace if possible
  };
  // The name in SOURCE under which `newcomer` will be shown as asked.
  // Errors: system; EPERM if no name in SOURCE would be shown as asked; EEXIST if all such names
  //   are taken; ENAMETOOLONG if they are too long.
  [[nodiscard]] Result<std::string> place(const Folder& folder, const Newcomer& newcomer) const;

 private:
  class ListingByPosition;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> shown_entries(const Folder& folder,
                                                                  const Folder::Item& item) const;
  [[nodiscard]] std::vector<ShownName> names_in(const Folder& folder, const std::string& source,
                                                const FrameSummary& file) const;

  WorkerPool& pool_;
  const NameChoice choice_;
  TaskThreads* const namers_;
};

}  // namespace framefs::fs

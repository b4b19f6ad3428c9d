#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/worker_pool.h"
#include "fs/source/folder.h"
#include "fs/tree/shown_names.h"

namespace framefs::fs {

// One entry of a directory as the mount shows it: a name and an identity.  Sizes and times are not
// part of it, since a listing is answered in pieces, between which files change.
struct DirectoryEntry {
  ShownName shown;
  Folder::Item source;  // its type is that of what is shown
};

// How names in SOURCE and names in the mount go together.  Both directions follow from nothing but
// the folder's contents: a frame has the names that it wants unless an entry is called so, or another
// wants the same; then it keeps its own.
// Threads: any number.
class NameMap {
 public:
  NameMap(WorkerPool& pool, bool keep_suffix, ArrayViews arrays)
      : pool_(pool), keep_suffix_(keep_suffix), arrays_(arrays) {}

  // All that is shown of the folder; what may be a frame is looked at in parallel.  Errors: system.
  Result<std::vector<DirectoryEntry>> list(const Folder& folder) const;

  struct Found {
    std::string source_name;
    ShownAs shown_as = ShownAs::itself;
    SourceEntry entry;
  };
  // What is shown as `shown_name`.  Errors: system, ENOENT where nothing is.
  Result<Found> find(const Folder& folder, const std::string& shown_name) const;

  // What is to get a name.
  struct Newcomer {
    ShownName asked;          // how it must be shown
    std::string source_name;  // its name in SOURCE now; empty where it has none
    std::function<FrameSummary(Expected)>
        summary;                          // what it is, under a name from which that is expected
    std::vector<std::string> leaving;     // entries of the folder that will be gone by then
    std::optional<std::string> replaced;  // one of them, in whose place it would best come
  };
  // The name in SOURCE under which it will be shown as asked.
  // Errors: system; EPERM where it would not be, under any; EEXIST where all such names are taken;
  //   ENAMETOOLONG where they are too long.
  Result<std::string> place(const Folder& folder, const Newcomer& newcomer) const;

 private:
  [[nodiscard]] std::vector<ShownName> wanted(std::string_view name,
                                              const FrameSummary& file) const;
  template <class Taken>
  std::vector<ShownName> names_of(const std::string& source, const FrameSummary& file,
                                  std::vector<ShownName> wanted_names, const Taken& is_taken) const;
  struct Classified;
  Result<Classified> classify_all(const Folder& folder) const;
  [[nodiscard]] std::vector<ShownName> names_in(const Folder& folder, const std::string& source,
                                                const FrameSummary& file) const;

  WorkerPool& pool_;
  const bool keep_suffix_;
  const ArrayViews arrays_;
};

}  // namespace framefs::fs

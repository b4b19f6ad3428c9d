#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/core/threads/worker_pool.h"
#include "fs/source/folder.h"
#include "fs/tree/names/name_choice.h"
#include "fs/tree/names/shown_listing.h"

namespace framefs::fs {

// The entries of a folder as they are shown.  Most have names that no other entry could have, as
// the names in the folder tell: each of these is probed and named when it is asked for.  The
// others, the rivals, are probed and named together, in the beginning.
// Threads: any number, each for other entries.
class FolderNames {
 public:
  // Errors: system.
  // Lifetime: `folder` and `choice` outlive the object.
  static Result<std::unique_ptr<FolderNames>> of(const Folder& folder, const NameChoice& choice,
                                                 WorkerPool& pool);

  // The number of entries in the folder.
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  // Adds entry `number` to `entries`, under each of its names.  To be called once, or again after
  // an error.
  // Errors: system, if the entry cannot be probed now.  After bad_alloc, too, nothing was added.
  Status add(std::size_t number, std::vector<DirectoryEntry>& entries);
  static constexpr std::size_t kMaxNames = 2;  // that it adds

 private:
  using Names = std::vector<ShownName>;
  FolderNames(const Folder& folder, const NameChoice& choice, std::vector<Folder::Item> items);
  template <class Body>
  void for_each_other_name_of(std::size_t number, const Body& body) const;
  [[nodiscard]] std::vector<std::size_t> find_rivals() const;
  Status name_rivals(const std::vector<std::size_t>& numbers, WorkerPool& pool);
  [[nodiscard]] Result<Names> names_of(std::size_t number) const;

  const Folder& folder_;
  const NameChoice& choice_;
  std::vector<Folder::Item> items_;
  std::vector<bool> are_special_;                  // see Folder::may_be_special()
  std::unordered_map<std::size_t, Names> rivals_;  // their names by their numbers
};

// All entries of a folder as they are shown.  Those that may be frames are probed in parallel.
// Errors: system.
[[nodiscard]] Result<std::vector<DirectoryEntry>> name_all(const Folder& folder,
                                                           const NameChoice& choice,
                                                           WorkerPool& pool);

}  // namespace framefs::fs

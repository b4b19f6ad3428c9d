#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "fs/core/threads/task_threads.h"
#include "fs/tree/names/folder_names.h"
#include "fs/tree/names/shown_listing.h"

namespace framefs::fs {

// A listing whose entries are named while it is read: by threads of their own, and by the reader
// where it comes to one that no thread has begun.  The folder must not change meanwhile.
// Threads: any number.
class GradualListing final : public ShownListing {
 public:
  // `helpers`: how many of the threads name entries.
  // Lifetime: the folder of `names` and `threads` outlive the listing.
  GradualListing(std::unique_ptr<FolderNames> names, TaskThreads& threads, std::size_t helpers);
  ~GradualListing() override;

  // Stops early at entries that have no names yet, once there is one.
  Result<bool> read(std::uint64_t from, const Take& take) const override;

 private:
  class Parts;

  const std::shared_ptr<Parts> parts_;
};

}  // namespace framefs::fs

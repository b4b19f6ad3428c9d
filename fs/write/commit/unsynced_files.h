#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "codec/core/result.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"

namespace framefs::fs {

using codec::Status;

// The chunk files of a sparse frame that were written and not synced.  They stay open until then:
// the kernel may forget a failed write of a file that nobody has open, and a sync would succeed.
// Threads: any number.
class UnsyncedFiles {
 public:
  // So many are open at most.
  static constexpr std::size_t kMost = 32;

  // Adds a file.  If there are too many, all of them are synced first.
  // Errors: system, of a sync: bytes of any of the files may be lost.
  Status add(std::uint32_t number, UniqueFd file);
  // The file is not needed any more.
  void drop(std::uint32_t number);
  // Syncs all files.  Errors: as add().
  Status sync();

 private:
  using Files = std::unordered_map<std::uint32_t, UniqueFd>;
  static Status sync_all(const Files& files);

  Guarded<Files> files_;
};

}  // namespace framefs::fs

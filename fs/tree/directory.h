#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fs/core/worker_pool.h"
#include "fs/tree/frame_probe.h"

namespace framefs::fs {

// One entry of a directory as the mount shows it.
struct DirectoryEntry {
  std::string shown_name;
  std::string source_name;
  std::uint64_t inode = 0;
  unsigned char type = 0;          // DT_REG and so on
  std::optional<ProbedFile> file;  // known where it was looked at anyway
};

// How names in SOURCE and names in the mount go together.  Both directions follow from nothing but
// the directory's contents: a frame loses its suffix unless an entry of the shorter name exists, or
// two frames would come to share it.
// Threads: any number.
class Directory {
 public:
  Directory(FrameProbe& probe, WorkerPool& pool, bool keep_suffix)
      : probe_(probe), pool_(pool), keep_suffix_(keep_suffix) {}

  // All that is shown of the open directory; frames are looked at in parallel.  Errors: system.
  Result<std::vector<DirectoryEntry>> list(int directory) const;

  struct Found {
    std::string source_name;
    ProbedFile file;
  };
  // What is shown as `shown_name`.  Errors: system, ENOENT where nothing is.
  Result<Found> find(int directory, const std::string& shown_name) const;

 private:
  void show_frames(int directory, std::vector<DirectoryEntry>& entries) const;
  [[nodiscard]] bool is_shown_stripped(int directory, const std::string& frame) const;

  FrameProbe& probe_;
  WorkerPool& pool_;
  const bool keep_suffix_;
};

}  // namespace framefs::fs

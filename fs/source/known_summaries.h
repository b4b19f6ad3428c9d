#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fs/source/frame_summary.h"

namespace framefs::fs {

// The contents of files in SOURCE, from a list that the mount trusts: the heads of these files need
// not be read.
// Threads: any number.
class KnownSummaries {
 public:
  struct File {
    // Two paths with one hash would need files of one size and one time to be taken for each other.
    std::uint64_t path_hash = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    FrameSummary summary;
  };
  static File file(std::string_view path, std::uint64_t size, std::int64_t mtime_ns,
                   const FrameSummary& summary);

  KnownSummaries() = default;
  explicit KnownSummaries(std::vector<File> files);

  // The content of the file at `path` in SOURCE, whose attributes are `st`.  Empty if its size or
  // its time differs.
  [[nodiscard]] std::optional<FrameSummary> find(std::string_view path,
                                                 const struct stat& st) const;

 private:
  std::vector<File> files_;  // by their hashes
};

}  // namespace framefs::fs

#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "fs/source/frame_summary.h"

namespace framefs::fs {

// The contents of files in SOURCE, from a list that the mount trusts: the heads of these files need
// not be read.
// Threads: any number.
class KnownSummaries {
 public:
  struct File {
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    FrameSummary summary;
  };

  // To be called before any other thread uses the object.
  void add(std::string_view path, const File& file);

  [[nodiscard]] bool is_empty() const noexcept { return files_.empty(); }

  // The content of the file at `path` in SOURCE, whose attributes are `st`.  Empty if its size or
  // its time differs.
  [[nodiscard]] std::optional<FrameSummary> find(std::string_view path,
                                                 const struct stat& st) const;

 private:
  // By the hashes of their paths: two paths with one hash would need files of one size and one time
  // to be taken for each other.
  std::unordered_map<std::uint64_t, File> files_;
};

}  // namespace framefs::fs

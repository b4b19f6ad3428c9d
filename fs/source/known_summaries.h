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
  [[nodiscard]] std::size_t range_of(std::uint64_t path_hash) const {
    return path_hash >> (kHashBits - range_bits_);
  }

  static constexpr unsigned kHashBits = 64;

  std::vector<File> files_;  // by their hashes
  // Hashes are spread evenly: all of one range of values are few.  A range has about one file.
  unsigned range_bits_ = 1;
  std::vector<std::uint32_t> begins_;  // the first file of each range, and the end of the last
};

}  // namespace framefs::fs

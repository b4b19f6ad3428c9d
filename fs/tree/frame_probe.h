#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "fs/core/file.h"
#include "fs/core/guarded.h"

namespace framefs::fs {

// What the first bytes of a file say.
struct FrameSummary {
  bool is_frame = false;        // bears the magic; whatever else may be wrong with it
  bool is_sparse = false;       // and calls itself the index of a sparse frame
  std::uint64_t nbytes = 0;     // decoded size; 0 where the header is damaged
  std::uint64_t chunksize = 0;  // likewise; 0 where chunks vary, too
};

// A file as it stands in SOURCE, and as it will be shown.
struct ProbedFile {
  struct stat stat{};
  FrameSummary summary;
};

// Finds out which files are frames, by one small read each, and remembers it for as long as the
// file does not change.  Threads: any number.
class FrameProbe {
 public:
  // Looks at `name` in an open directory.  Only regular files with a frame's suffix are read.
  // Errors: system, where there is no such entry.  A file that cannot be read is no frame.
  Result<ProbedFile> probe(int directory, const std::string& name);

  // The same for a file that is open for reading and is in the state `identity`.
  FrameSummary probe_open(int file, const FileIdentity& identity);

 private:
  std::optional<FrameSummary> recall(const FileIdentity& identity) const;
  void remember(const FileIdentity& identity, const FrameSummary& summary);

  struct IdentityHash {
    std::size_t operator()(const FileIdentity& id) const noexcept;
  };
  // So many are remembered; then all are forgotten, which costs a read each.
  static constexpr std::size_t kMostFiles = 1u << 17;

  Guarded<std::unordered_map<FileIdentity, FrameSummary, IdentityHash>> known_;
};

}  // namespace framefs::fs

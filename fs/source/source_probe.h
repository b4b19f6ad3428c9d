#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "codec/core/limits.h"
#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/source/frame_summary.h"

namespace framefs::fs {

// An entry of SOURCE as it stands there.
struct SourceEntry {
  struct stat stat{};
  FrameSummary summary;
  // Where the bytes are, if not in the entry itself: the index file of a sparse frame.
  std::optional<struct stat> index_stat;

  // The file whose state is the state of what is shown.
  [[nodiscard]] const struct stat& content_stat() const noexcept {
    return index_stat ? *index_stat : stat;
  }
};

inline FileKey file_key(const SourceEntry& entry) noexcept {
  return {entry.stat.st_dev, entry.stat.st_ino};
}

// Finds out what the entries of SOURCE are, by one small read each, and remembers it for as long as
// the file does not change.  Threads: any number.
class SourceProbe {
 public:
  // Called whenever something has been looked at and before anybody uses what was found: a test then
  // does what other threads or processes could do in between.
  using Watcher = std::function<void()>;

  // Frames begin at byte `offset` of their files: other than 0 where SOURCE is one file.
  // `heeds_acls`: modes are shown within the access control lists of the files (acl_access.h).
  explicit SourceProbe(const codec::Limits& limits, std::uint64_t offset = 0,
                       Watcher watcher = nullptr, bool heeds_acls = false)
      : limits_(limits), offset_(offset), watcher_(std::move(watcher)), heeds_acls_(heeds_acls) {}

  // Looks at `name` in an open directory; what is read of it is for its name to say, or for
  // `expected`.
  // Errors: system, where there is no such entry.  What cannot be read is nothing special.
  Result<SourceEntry> probe(int directory, const std::string& name);
  Result<SourceEntry> probe_as(int directory, const std::string& name, Expected expected);

  // The attributes of an open file, as those of its entry.  Errors: system.
  [[nodiscard]] Result<struct stat> stat_open(int fd) const;

  // The same for a file that is open for reading and is in the state `stat`.
  FrameSummary probe_open(const FileReader& file, const struct stat& stat, Expected expected);

 private:
  struct Key {
    FileIdentity identity;
    Expected expected;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  std::optional<FrameSummary> recall(const Key& key) const;
  void remember(const Key& key, const FrameSummary& summary);
  void probe_file(int directory, const std::string& name, Expected expected, SourceEntry& entry);
  void probe_sparse(int directory, const std::string& name, Expected expected, SourceEntry& entry);

  // So many are remembered; then all are forgotten, which costs a read each.
  static constexpr std::size_t kMaxFiles = 1u << 17;

  const codec::Limits limits_;
  const std::uint64_t offset_;
  const Watcher watcher_;
  const bool heeds_acls_;
  Guarded<std::unordered_map<Key, FrameSummary, KeyHash>> known_;
};

}  // namespace framefs::fs

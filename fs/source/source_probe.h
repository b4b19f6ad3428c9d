#pragma once

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "codec/core/limits.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/source/acl_access.h"
#include "fs/source/frame_summary.h"
#include "fs/source/known_summaries.h"
#include "fs/source/source_handles.h"

namespace framefs::fs {

// An entry of SOURCE in its stored form.
struct SourceEntry {
  struct stat stat{};
  FrameSummary summary;
  // The attributes of the index file, for a sparse frame: its bytes are not in the entry itself.
  std::optional<struct stat> index_stat;
  // When a directory was made, where the filesystem tells.  A new directory may have the inode of a
  // removed one.
  std::optional<std::int64_t> birth_ns{};
  // The generation of the inode, if the probe has SourceHandles: it differs between files that have
  // the inode one after the other.
  std::optional<std::uint32_t> generation{};

  // The attributes of the file whose state is the state of the shown content.
  [[nodiscard]] const struct stat& content_stat() const noexcept {
    return index_stat ? *index_stat : stat;
  }
};

inline FileKey file_key(const SourceEntry& entry) noexcept { return file_key(entry.stat); }

// Determines the content of the entries of SOURCE with one small read each, and remembers the
// result until the file changes.  Threads: any number.
class SourceProbe {
 public:
  // Called after each probe, before the result is used.  A test then does what other threads or
  // processes could do in between.
  using Watcher = std::function<void()>;

  // Frames begin at byte `offset` of their files.  It can differ from 0 only if SOURCE is one file.
  // Lifetime: `handles`, which may be null, outlives the probe.
  explicit SourceProbe(const codec::Limits& limits, std::uint64_t offset = 0,
                       Watcher watcher = nullptr, AclRule acls = AclRule::ignored,
                       const SourceHandles* handles = nullptr)
      : limits_(limits),
        offset_(offset),
        watcher_(std::move(watcher)),
        acls_(acls),
        handles_(handles) {}

  // Probes `name` in an open directory.  The name, or `expected`, determines what is read.
  // Attributes and content are those of one object, also while programs replace it.
  // Errors: system, if there is no such entry; ESTALE if other programs replace it all the time.  A
  //   file that cannot be read counts as Content::other.
  Result<SourceEntry> probe(int directory, const std::string& name);
  // With `known`, the content of a file is known, and is not read.  `path` is that of the entry in
  // SOURCE, for KnownSummaries; it may be empty.
  Result<SourceEntry> probe_as(int directory, const std::string& name, Expected expected,
                               const FrameSummary* known = nullptr, std::string_view path = {});

  // The content alone of an entry that was a regular file when it was listed.
  // Errors: as probe_as().
  Result<FrameSummary> summary_of_file(int directory, const std::string& name, Expected expected,
                                       std::string_view path);

  // From now on, trusts the summaries.  Must be called before any other thread uses the probe.
  void know(KnownSummaries summaries) { known_summaries_ = std::move(summaries); }

  // Probes an open file whose content is known; `fd` may be an O_PATH descriptor.  Errors: system.
  [[nodiscard]] Result<SourceEntry> probe_known(int fd, const FrameSummary& known) const;

  // The attributes of an open file, as probe() returns them for its entry.  Errors: system.
  [[nodiscard]] Result<struct stat> stat_open(int fd) const;
  // The same for a directory or a file of a sparse frame.  The mount shows these as one file, for
  // which the kernel gets no access control list.
  [[nodiscard]] Result<struct stat> stat_part(int fd) const;
  // The generation of an open file with the attributes `st`, as probe() returns it.
  [[nodiscard]] std::optional<std::uint32_t> generation_of(int fd, const struct stat& st) const {
    return handles_ == nullptr ? std::nullopt : handles_->generation_of(fd, st);
  }

  // The same for a file that is open for reading and in the state `stat`.
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
  // Returns whether the content was known before.
  bool remember(const Key& key, const FrameSummary& summary);
  void note_known(bool is_known);
  // The content of an open file, which becomes known.
  FrameSummary read_summary(const FileReader& file, const struct stat& stat, Expected expected);
  // Whether attributes and content are those of one object.  A program may replace the object
  // between two system calls.
  enum class Probed : std::uint8_t { same, replaced };
  Status stat_entry(int directory, const std::string& name, SourceEntry& entry) const;
  // Classifies a failure to open the entry.  Errors: as probe_file().
  static Result<Probed> unopened(int error);
  // Errors: system, if the daemon cannot open any file now.  A file that it may not read is shown.
  Result<Probed> probe_file(int directory, const std::string& name, Expected expected,
                            std::string_view path, SourceEntry& entry);
  Result<Probed> probe_sparse(int directory, const std::string& name, Expected expected,
                              SourceEntry& entry);

  static std::size_t shard_of(const Key& key) { return KeyHash{}(key) % kShards; }

  // With one lock, the threads that probe the entries of a directory would wait for each other.
  static constexpr std::size_t kShards = 32;
  // The maximum number of remembered files in a shard.  At the maximum these are forgotten, which
  // costs one read per file.
  static constexpr std::size_t kMaxFiles = (1U << 17) / kShards;

  const codec::Limits limits_;
  const std::uint64_t offset_;
  const Watcher watcher_;
  const AclRule acls_;
  const SourceHandles* const handles_;
  KnownSummaries known_summaries_;  // constant since know()
  // Whether the file that was probed last was known.  No other data depends on it.
  std::atomic<bool> are_files_known_{false};
  std::array<Guarded<std::unordered_map<Key, FrameSummary, KeyHash>>, kShards> known_;
};

}  // namespace framefs::fs

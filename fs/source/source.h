#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/byte_source.h"
#include "fs/core/file.h"

namespace framefs::fs {

// An entry of SOURCE without its bytes.
struct SourceStat {
  // Type, size, times, owner, mode and identity (st_dev, st_ino).  A source without owners or modes
  // sets those that suit every reader: the user of the mount, and r--r--r--.
  struct stat stat{};
  // Identifies the state of the bytes.
  FileIdentity version;
};

// The bytes of an entry.
struct SourceObject {
  SourceStat at;  // describes the state that `bytes` reads
  std::shared_ptr<const codec::ByteSource> bytes;
};

// An entry of a listing.
struct SourceItem {
  std::string name;
  std::uint64_t inode = 0;  // as in SourceStat; 0 if the listing does not have it
  unsigned char type = 0;   // DT_REG etc.; DT_UNKNOWN if the listing does not have it
  // The result of stat(), if the listing has it at no cost, as in object stores.
  std::optional<SourceStat> at{};
};

// The place that a mount shows, before the mount changes names and decodes frames.  The local
// directory is one implementation (fs/source/local_source.h), an object store another.
//
// A path is relative to SOURCE: names separated by one '/', or "" for SOURCE itself.  No name is
// empty, "." or "..", and no name contains a '/' or a zero byte.
//
// An implementation guarantees:
// - list() returns all entries of a directory once each, in any order.  Entries that appear or
//   disappear meanwhile may be in the listing or not.  If the keys of an object store make "a" an
//   object and "a/b" another, the store lists "a" once: as the object, or as the directory.
// - stat() answers for every path that list() or a user names.  A path has one type at a time.  An
//   entry below a path exists only if the path is a directory: "a/b" implies that "a" is a
//   directory.
// - The identity (st_dev, st_ino) of an entry stays the same while the entry exists under its name
//   and, as far as the implementation can tell, from mount to mount.  Two entries that exist at the
//   same time have different identities, unless they are two names of one file.
// - Two states of an entry's bytes have different versions.  If the implementation cannot tell two
//   states apart (times of low resolution, weak tags), it returns a version that differs from every
//   other version.
// - open() returns the bytes and the version of one state: a read of `bytes` returns bytes of that
//   version or fails.  A local file may change under its descriptor; readers compare the version
//   again at each read, by stat().  A remote object does not change: if it was replaced meanwhile,
//   a read fails with ESTALE and never returns bytes of another version.
// - `bytes` outlives the source's directory entry if the implementation can do that.  A read of
//   `bytes` may take as long as a network takes, and may come from any number of threads at once.
// - The caller retries nothing: a failed call returns the errno that a user should see.  ENOENT
//   says that there is no such entry now, and the mount may remember that for as long as the kernel
//   remembers names.  A connection error must not look like ENOENT.
//
// Writing, extended attributes, links and sparse frames (which are directories of chunk files) are
// not part of the interface; LocalSource has them.
//
// Errors of all members: system.
// Threads: any number.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // ENOTDIR if the path is not a directory.
  [[nodiscard]] virtual Result<std::vector<SourceItem>> list(const std::string& path) const = 0;
  // For a symbolic link, the attributes of the link itself.
  [[nodiscard]] virtual Result<SourceStat> stat(const std::string& path) const = 0;
  // Opens a regular file.  ELOOP for a symbolic link, EISDIR for a directory.
  [[nodiscard]] virtual Result<SourceObject> open(const std::string& path) const = 0;
};

}  // namespace framefs::fs

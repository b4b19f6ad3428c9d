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
  // Type, size, times, owner, mode and identity (st_dev, st_ino).  A source that knows no owner or
  // mode sets what every reader may have: the user of the mount, and r--r--r--.
  struct stat stat{};
  // Names the state of the bytes.
  FileIdentity version;
};

// The bytes of an entry.
struct SourceObject {
  SourceStat at;  // of the bytes that `bytes` reads
  std::shared_ptr<const codec::ByteSource> bytes;
};

// The name of an entry, as a listing has it.
struct SourceItem {
  std::string name;
  std::uint64_t inode = 0;  // as SourceStat has it; 0 where the listing does not tell
  unsigned char type = 0;   // DT_REG and so on; DT_UNKNOWN where the listing does not tell
  // What stat() would say, where the listing tells for nothing: those of object stores do.
  std::optional<SourceStat> at{};
};

// The place that a mount shows, as it is there: before names are changed and frames decoded.  The
// local directory is one implementation (fs/source/local_source.h), an object store another.
//
// A path is relative to SOURCE: names with one '/' between them, "" for SOURCE itself.  No name is
// empty, "." or "..", and none has a '/' or a zero byte in it.
//
// An implementation promises:
// - list() returns all entries of a directory, in any order, none twice.  Entries that come or go
//   meanwhile may be in it or not.  An object store whose keys make "a" an object and "a/b" another
//   lists "a" once: as the object, or as the directory.
// - stat() answers for every path that list() or a user names.  A path has one type at a time: an
//   entry below a path exists only where the path is a directory, so that "a/b" implies that "a" is.
// - The identity (st_dev, st_ino) of an entry stays the same while it exists under its name, and, as
//   far as the implementation can tell, from mount to mount.  Two entries that exist at the same time
//   have different identities, unless they are two names of one file.
// - Two states of the bytes of an entry have different versions.  Where the implementation cannot tell
//   (times of low resolution, weak tags), it says so by a version that differs from every other.
// - open() returns bytes and version of one state: what `bytes` reads is of that version, or fails.
//   A local file may change under its descriptor; readers compare the version again at each read, by
//   stat().  A remote object does not: a read of an object that was replaced meanwhile fails by
//   ESTALE, and never returns bytes of another version.
// - `bytes` outlives the source's directory entry where the implementation can do that.  Reads of it
//   may take as long as a network takes, and may come from any number of threads at once.
// - Nothing is retried by the caller: a call that fails has failed, with the errno that a user should
//   see.  ENOENT says that there is no such entry now, which the mount may remember for as long as
//   the kernel remembers names; an error of the connection must not look like that.
//
// Writing, extended attributes, links and sparse frames (which are directories of chunk files) are
// not part of the interface: what can do that is a LocalSource.
//
// Errors of all members: system.
// Threads: any number.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // ENOTDIR for what is no directory.
  [[nodiscard]] virtual Result<std::vector<SourceItem>> list(const std::string& path) const = 0;
  // Of a symbolic link, where there are any, the link's own.
  [[nodiscard]] virtual Result<SourceStat> stat(const std::string& path) const = 0;
  // A regular file.  ELOOP for a symbolic link, EISDIR for a directory.
  [[nodiscard]] virtual Result<SourceObject> open(const std::string& path) const = 0;
};

}  // namespace framefs::fs

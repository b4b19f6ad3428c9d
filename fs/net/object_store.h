#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fs/net/part_store.h"
#include "fs/net/remote_object.h"

namespace framefs::net {

// What a listing says about one name.
struct RemoteEntry {
  std::string name;  // one segment, as users see it
  bool is_directory = false;
  bool is_exact = true;  // size, time and ETag are right; else stat() says them
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::string etag;  // strong; "" where there is none

  bool operator==(const RemoteEntry&) const = default;
};

// An object that was opened: pinned to the version that it had then.
struct RemoteOpened {
  std::shared_ptr<const RemoteObject> object;
  std::int64_t mtime_ns = 0;
  Part head;  // its first bytes, which came with the answer
};

// Where objects lie: a bucket with a prefix, a web server's folder, a DAV collection.  Paths are
// relative to its root, "" being the root itself, with '/' between segments.
// Errors, of all: system; ENOENT, EACCES and ENOTDIR as of files, EIO where the server fails for
// longer than a call may take, EINTR where the operation of this thread is interrupted.
// Threads: any number; all wait for the server.
class ObjectStore {
 public:
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  virtual ~ObjectStore() = default;

  // What lies in a folder, sorted by name.  Names that no file can have ("", ".", "..", with a slash
  // or a zero byte) are left out; of an object and a folder with the same name the folder stays.
  virtual Result<std::vector<RemoteEntry>> list(const std::string& folder) = 0;
  virtual Result<RemoteEntry> stat(const std::string& path) = 0;
  // One request, which also brings the head.
  virtual Result<RemoteOpened> open(const std::string& path) = 0;

  static constexpr std::uint64_t kHeadBytes = 64 << 10;
};

// Brings entries into the form that list() promises.
std::vector<RemoteEntry> tidy_listing(std::vector<RemoteEntry> entries);

// `folder` and `name` as one path.
std::string join_path(const std::string& folder, const std::string& name);

}  // namespace framefs::net

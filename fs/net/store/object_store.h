#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/net/cache/part_store.h"
#include "fs/net/store/remote_object.h"

namespace framefs::net {

// The facts that a listing gives about one name.
struct RemoteEntry {
  std::string name;  // one segment, as users see it
  bool is_directory = false;
  bool is_exact = true;  // size, time and ETag are exact; otherwise only stat() knows them
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::string etag;  // strong; "" if there is none
  // The first bytes of the object, if the listing has them.
  std::shared_ptr<const std::vector<std::byte>> head = nullptr;

  bool operator==(const RemoteEntry&) const = default;
};

// Entries of a listing that no mount shows.
struct LeftOut {
  std::uint64_t count = 0;
  std::string first;  // the name of one of them
};

// The entries of a folder, sorted by name, as a directory can have them: no two have the same name.
struct FolderEntries {
  std::vector<RemoteEntry> entries;
  LeftOut unnameable;  // no file can have their names
  LeftOut covered;     // objects with the name of a folder
};

// The maximum size of all answers that make one listing, and of the entries in it.
inline constexpr std::uint64_t kMaxListingBytes = 256 << 20;
// The maximum size of one of these answers.
inline constexpr std::uint64_t kMaxListingBodyBytes = 64 << 20;
inline constexpr std::size_t kMaxListingEntries = 2'000'000;

// The size of an object's beginning that an open fetches.
inline constexpr std::uint64_t kHeadBytes = 64 << 10;

// The bytes that an open fetches.
struct OpenRequest {
  ByteRange range{0, kHeadBytes};  // begins at 0, or lies within the object of `version`
  // The version that the object must have, which is a strong one; otherwise the open fails with
  // ESTALE.  Without it, the open finds the version.
  std::optional<ObjectVersion> version = std::nullopt;
};

// An opened object, pinned to the version that it had at that time.
struct RemoteOpened {
  std::shared_ptr<const RemoteObject> object;
  std::int64_t mtime_ns = 0;
  Part part;  // the bytes of the request's range that the object has
};
// The listing's entry of an object that was opened, without the name.
RemoteEntry entry_of(const RemoteOpened& opened);

// A place that holds objects: a bucket with a prefix, a web server's folder, a DAV collection.
// Paths are relative to its root, with '/' between segments; "" is the root itself.
// Errors, of all functions: system; ENOENT, EACCES and ENOTDIR as for files; EIO if the server
// fails for longer than a call may take; EINTR if the operation of this thread is interrupted.
// Lifetime: a store outlives its objects.
// Threads: any number; each call waits for the server.
class ObjectStore {
 public:
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  virtual ~ObjectStore() = default;

  // The list leaves out names that no file can have.  If an object and a folder have the same name,
  // it has only the folder.
  virtual Result<FolderEntries> list(const std::string& folder) = 0;
  virtual Result<RemoteEntry> stat(const std::string& path) = 0;
  // The same as list() if the list costs one request; otherwise nothing.
  virtual Result<std::optional<FolderEntries>> list_if_small(const std::string& folder) {
    FRAMEFS_TRY(auto listed, list(folder));
    return std::optional(std::move(listed));
  }
  // The entries of a folder that have one of these names, at a cost that does not depend on the
  // size of the folder.  All requests are sent at once.
  virtual Result<std::vector<RemoteEntry>> look_up(const std::string& folder,
                                                   const std::vector<std::string>& names);
  // Opens an object by one request, which also fetches some of its bytes.  Does not wait: the store
  // calls `done` once, on any thread.  `done` must not wait either.
  using OpenDone = std::function<void(Result<RemoteOpened>)>;
  virtual void start_open(const std::string& path, const OpenRequest& request, OpenDone done) = 0;
  // The same; returns when the answer is here.
  Result<RemoteOpened> open(const std::string& path, const OpenRequest& request = {});
};

// Calls `start` and waits for the result that it hands over.
// Errors: those of the result; system, with EINTR, if the operation of this thread is interrupted.
Result<RemoteOpened> wait_for_open(const std::function<void(ObjectStore::OpenDone)>& start);

// Whether a file can have this name: it is not "", "." or "..", has no slash or zero byte, and at
// most 255 bytes.
bool is_file_name(std::string_view name);

// Brings entries into the form that list() promises.  An entry without a name is the folder itself.
FolderEntries tidy_listing(std::vector<RemoteEntry> entries);

// `folder` and `name` as one path.
std::string join_path(const std::string& folder, const std::string& name);

}  // namespace framefs::net

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "fs/net/cache/part_store.h"
#include "fs/net/store/entry_table.h"
#include "fs/net/store/listing_budget.h"
#include "fs/net/store/remote_entry.h"
#include "fs/net/store/remote_object.h"

namespace framefs::net {

// The entries of a folder, sorted by name, as a directory can have them: no two have the same name.
struct FolderEntries {
  std::vector<RemoteEntry> entries;
  LeftOut unnameable;  // no file can have their names
  LeftOut covered;     // objects with the name of a folder
};

// The parts of the budget that one page of a listing uses.
struct PageCharge {
  ListingBudget::Charge body;
  ListingBudget::Charge table;
};

// A page of a listing that a store was asked for.
// Threads: one at a time.
class PageRequest {
 public:
  PageRequest() = default;
  PageRequest(const PageRequest&) = delete;
  PageRequest& operator=(const PageRequest&) = delete;
  virtual ~PageRequest() = default;
  // Waits for the page.  After EINTR it can be called again; after another result it must not.
  virtual Result<ListedPage> wait() = 0;
};

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

  // Asks for a page of the listing of a folder: the first one, or the one that the page before
  // announces as its continuation.  Keys ascend from page to page, unless the server breaks that
  // rule.
  // Errors of the page: also ENOMEM, see is_over_budget(), and bad_field.
  virtual std::unique_ptr<PageRequest> start_page(const std::string& folder,
                                                  const std::string& continuation,
                                                  PageCharge charge) = 0;
  // The whole listing, without a budget.  It leaves out names that no file can have.  If an object
  // and a folder have the same name, it has only the folder.
  Result<FolderEntries> list(const std::string& folder);
  virtual Result<RemoteEntry> stat(const std::string& path) = 0;
  // Whether look_up() costs the same at any size of a folder.  Otherwise it lists the folder.
  [[nodiscard]] virtual bool looks_up_names() const { return false; }
  // The entries of a folder that have one of these names.  All requests are sent at once.
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

// Brings entries into the form that list() promises.  An entry without a name is the folder itself.
FolderEntries tidy_listing(const std::vector<RemoteEntry>& entries);

// A request of a store that has no pages: `list` runs when the page is waited for.
std::unique_ptr<PageRequest> deferred_page(std::function<Result<ListedPage>()> list);

// The continuations of a listing, which ends although its server goes on without end: if one comes
// twice, or they become too many.
class Continuations {
 public:
  // Errors: bad_field; over_limit.
  Status note(const std::string& continuation);

 private:
  std::unordered_set<std::string> seen_;
  std::size_t bytes_ = 0;
};

// `folder` and `name` as one path.
std::string join_path(const std::string& folder, const std::string& name);

}  // namespace framefs::net

#include "fs/net/store/object_store.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/core/threads/interrupt.h"

namespace framefs::net {

RemoteEntry entry_of(const RemoteOpened& opened) {
  const auto& version = opened.object->version();
  RemoteEntry entry;
  entry.size = version.size;
  entry.mtime_ns = opened.mtime_ns;
  if (version.is_strong()) entry.etag = version.etag;
  return entry;
}

bool is_file_name(std::string_view name) {
  constexpr std::size_t kMaxNameBytes = 255;
  return !name.empty() && name != "." && name != ".." && name.size() <= kMaxNameBytes &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

namespace {

// Without a budget there is room for every entry that a listing may have.
FolderEntries entries_of(ListedPage page) {
  FolderEntries listed;
  const auto& table = page.table;
  listed.entries.reserve(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) listed.entries.push_back(table.entry(i));
  // The order of keys differs from that of names if a name begins with the name of a folder.
  std::ranges::sort(listed.entries, {}, &RemoteEntry::name);
  for (auto& entry : page.with_heads) {
    const auto at = std::ranges::lower_bound(listed.entries, entry.name, {}, &RemoteEntry::name);
    if (at != listed.entries.end() && at->name == entry.name) at->head = std::move(entry.head);
  }
  listed.unnameable = std::move(page.unnameable);
  listed.covered = std::move(page.covered);
  return listed;
}

class DeferredPage final : public PageRequest {
 public:
  explicit DeferredPage(std::function<Result<ListedPage>()> list) : list_(std::move(list)) {}
  Result<ListedPage> wait() override { return list_(); }

 private:
  const std::function<Result<ListedPage>()> list_;
};

}  // namespace

FolderEntries tidy_listing(const std::vector<RemoteEntry>& entries) {
  EntryTableBuilder builder({});
  for (const auto& entry : entries) {
    if (!builder.add(entry)) break;
  }
  return entries_of(builder.finish());
}

std::unique_ptr<PageRequest> deferred_page(std::function<Result<ListedPage>()> list) {
  return std::make_unique<DeferredPage>(std::move(list));
}

Status Continuations::note(const std::string& continuation) {
  // Two million keys have two thousand pages.
  constexpr std::size_t kMaxBytes = 8 << 20;
  if (continuation.empty()) return {};
  if (!seen_.insert(continuation).second) {
    return codec::fail(Errc::bad_field, "listing: repeated continuation token");
  }
  bytes_ += continuation.size();
  if (bytes_ > kMaxBytes) return codec::fail(Errc::over_limit, "listing: continuation tokens");
  return {};
}

Result<FolderEntries> ObjectStore::list(const std::string& folder) {
  EntryTableBuilder builder({});
  ListedPage all;
  Continuations continuations;
  std::string continuation;
  do {
    // A wait for an answer notices an interrupt, but there is none while answers come at once.
    if (fs::interrupted()) return fs::system_error_of(EINTR, "listing");
    FRAMEFS_TRY(auto page, start_page(folder, continuation, {})->wait());
    for (std::size_t i = 0; i < page.table.size(); ++i) {
      FRAMEFS_CHECK(builder.add(page.table.entry(i)));
    }
    all.unnameable.add(page.unnameable);
    all.covered.add(page.covered);
    std::ranges::move(page.with_heads, std::back_inserter(all.with_heads));
    continuation = std::move(page.continuation);
    FRAMEFS_CHECK(continuations.note(continuation));
  } while (!continuation.empty());
  auto merged = builder.finish();
  merged.unnameable = std::move(all.unnameable);
  merged.covered.add(all.covered);
  merged.with_heads = std::move(all.with_heads);
  return entries_of(std::move(merged));
}

Result<std::vector<RemoteEntry>> ObjectStore::look_up(const std::string& folder,
                                                      const std::vector<std::string>& names) {
  FRAMEFS_TRY(auto listed, list(folder));
  std::erase_if(listed.entries, [&](const RemoteEntry& entry) {
    return std::ranges::find(names, entry.name) == names.end();
  });
  return std::move(listed.entries);
}

Result<RemoteOpened> ObjectStore::open(const std::string& path, const OpenRequest& request) {
  return wait_for_open([&](OpenDone done) { start_open(path, request, std::move(done)); });
}

Result<RemoteOpened> wait_for_open(const std::function<void(ObjectStore::OpenDone)>& start) {
  using Landed = fs::Guarded<std::optional<Result<RemoteOpened>>>;
  const auto landed = std::make_shared<Landed>();
  start([landed](Result<RemoteOpened> opened) {
    landed->with_and_wake([&](auto& value) { value = std::move(opened); });
  });
  auto opened = landed->wait_unless(
      fs::interrupted, [](const auto& value) { return value.has_value(); },
      [](auto& value) { return std::exchange(value, std::nullopt); });
  if (!opened) return fs::system_error_of(EINTR, "remote open");
  return std::move(*opened);
}

std::string join_path(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

}  // namespace framefs::net

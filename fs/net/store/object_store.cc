#include "fs/net/store/object_store.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/core/interrupt.h"

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

std::vector<RemoteEntry> tidy_listing(std::vector<RemoteEntry> entries) {
  std::erase_if(entries, [](const RemoteEntry& entry) { return !is_file_name(entry.name); });
  // A folder comes before an object of the same name, so that the object is the one removed.
  std::ranges::stable_sort(entries, [](const RemoteEntry& a, const RemoteEntry& b) {
    return a.name != b.name ? a.name < b.name : a.is_directory && !b.is_directory;
  });
  const auto again = std::ranges::unique(entries, {}, &RemoteEntry::name);
  entries.erase(again.begin(), again.end());
  return entries;
}

Result<std::vector<RemoteEntry>> ObjectStore::look_up(const std::string& folder,
                                                      const std::vector<std::string>& names) {
  FRAMEFS_TRY(auto entries, list(folder));
  std::erase_if(entries, [&](const RemoteEntry& entry) {
    return std::ranges::find(names, entry.name) == names.end();
  });
  return entries;
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

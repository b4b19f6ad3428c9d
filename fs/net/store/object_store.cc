#include "fs/net/store/object_store.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <tuple>
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

FolderEntries tidy_listing(std::vector<RemoteEntry> entries) {
  FolderEntries tidy;
  const auto leave_out = [](LeftOut& left, const std::string& name) {
    if (left.count++ == 0) left.first = name;
  };
  std::erase_if(entries, [&](const RemoteEntry& entry) {
    const bool is_kept = is_file_name(entry.name);
    if (!is_kept && !entry.name.empty()) leave_out(tidy.unnameable, entry.name);
    return !is_kept;
  });
  // A folder comes before an object of the same name, so that the object is the one removed.
  std::ranges::stable_sort(entries, [](const RemoteEntry& a, const RemoteEntry& b) {
    return a.name != b.name ? a.name < b.name : a.is_directory && !b.is_directory;
  });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const auto& [before, entry] = std::tie(entries[i - 1], entries[i]);
    const bool is_covered = before.is_directory && !entry.is_directory;
    if (is_covered && before.name == entry.name) leave_out(tidy.covered, entry.name);
  }
  const auto again = std::ranges::unique(entries, {}, &RemoteEntry::name);
  entries.erase(again.begin(), again.end());
  tidy.entries = std::move(entries);
  return tidy;
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

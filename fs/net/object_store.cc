#include "fs/net/object_store.h"

#include <algorithm>

namespace framefs::net {
namespace {

bool is_file_name(const std::string& name) {
  constexpr std::size_t kMaxNameBytes = 255;
  return !name.empty() && name != "." && name != ".." && name.size() <= kMaxNameBytes &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

}  // namespace

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

std::string join_path(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

}  // namespace framefs::net

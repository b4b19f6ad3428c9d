#include "src/cli/remote_walk.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <utility>

#include "fs/net/store/object_store.h"

namespace framefs {

codec::Status RemoteWalk::enter(fs::NodeId directory, const std::string& path) {
  FRAMEFS_TRY(auto opened, tree_.open_directory(directory));
  const std::shared_ptr<const fs::OpenFolder> folder = std::move(opened);
  FRAMEFS_TRY(auto entries, tree_.list(*folder));
  std::ranges::sort(
      entries, std::ranges::greater(),
      [](const fs::DirectoryEntry& entry) -> const std::string& { return entry.shown.name; });
  for (auto& entry : entries) {
    auto below = net::join_path(path, entry.shown.name);
    if (below.size() >= PATH_MAX) return fs::system_error_of(ENAMETOOLONG, "directory");
    pending_.push_back({folder, std::move(entry), std::move(below)});
  }
  return {};
}

std::optional<RemoteWalk::Entry> RemoteWalk::next() {
  if (pending_.empty()) return std::nullopt;
  auto last = std::move(pending_.back());
  pending_.pop_back();
  return last;
}

}  // namespace framefs

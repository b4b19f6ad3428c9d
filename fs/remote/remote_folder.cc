#include "fs/remote/remote_folder.h"

#include <dirent.h>

#include "fs/source/suffixes.h"

namespace framefs::fs {

Result<std::vector<Folder::Item>> RemoteFolder::items() const {
  std::vector<Item> items;
  items.reserve(listing_->entries.size());
  for (const auto& [name, entry] : listing_->entries) {
    const auto st = directories_.stat_of(net::join_path(path_, name), entry);
    const unsigned char type = entry.is_directory ? DT_DIR : DT_REG;
    items.push_back({name, st.st_ino, type});
  }
  return items;
}

Result<SourceEntry> RemoteFolder::probe(const std::string& name) const {
  return directories_.probe(*listing_, name, net::join_path(path_, name), expected_content(name));
}

Result<std::vector<Folder::Item>> RemoteNamesFolder::items() const {
  FRAMEFS_TRY(auto listing, directories_.list(path_));
  return RemoteFolder(directories_, std::move(listing), path_).items();
}

Result<SourceEntry> RemoteNamesFolder::probe(const std::string& name) const {
  FRAMEFS_TRY(const auto listing, directories_.list_for(path_, {name}));
  return directories_.probe(*listing, name, net::join_path(path_, name), expected_content(name));
}

void RemoteNamesFolder::remove_absent(std::vector<std::string>& names) const {
  // After an error all names stay, and probe() reports it.
  const auto listing = directories_.list_for(path_, names);
  if (!listing) return;
  std::erase_if(names, [&](const auto& name) { return !(*listing)->entries.contains(name); });
}

Result<std::vector<Folder::Item>> RemoteSingleFolder::items() const {
  std::vector<Item> items;
  for (const auto& [name, entry] : listing_->entries) {
    items.push_back({name, directories_.stat_of("", entry).st_ino, DT_REG});
  }
  return items;
}

Result<SourceEntry> RemoteSingleFolder::probe(const std::string& name) const {
  return directories_.probe(*listing_, name, "", expected_);
}

}  // namespace framefs::fs

#include "fs/remote/remote_folder.h"

#include <dirent.h>

#include "fs/source/suffixes.h"

namespace framefs::fs {

Folder::Item RemoteFolder::item_of(const RemotePage& page, std::size_t index) const {
  const std::string name(page.table.name(index));
  const bool is_directory = page.table.is_directory(index);
  const auto inode = directories_.inode_of(net::join_path(path_, name), is_directory);
  Item item{name, inode, static_cast<unsigned char>(is_directory ? DT_DIR : DT_REG)};
  item.is_costly = !page.table.is_exact(index);
  return item;
}

Result<std::vector<Folder::Item>> RemoteFolder::items() const {
  FRAMEFS_CHECK(listing_->complete());
  std::vector<Item> items;
  for (const auto& page : listing_->pages()) {
    for (std::size_t i = 0; i < page->table.size(); ++i) {
      const RemoteListing::Place place{RemoteListing::Place::Kind::entry, page, i};
      if (!listing_->is_covered(place)) items.push_back(item_of(*page, i));
    }
  }
  return items;
}

Result<Folder::Place> RemoteFolder::item_at(std::uint64_t position, bool may_wait) const {
  FRAMEFS_TRY(const auto place, listing_->at(position, may_wait));
  if (place.kind == RemoteListing::Place::Kind::end) return Place{.kind = Place::Kind::end};
  if (place.kind == RemoteListing::Place::Kind::later) return Place{.kind = Place::Kind::later};
  const auto& page = *place.page;
  if (!page.is_probed.load(std::memory_order_acquire)) {
    // Probes take a round trip, too.
    if (!may_wait) return Place{.kind = Place::Kind::later};
    FRAMEFS_CHECK(directories_.prepare(*listing_, page, path_));
    page.is_probed.store(true, std::memory_order_release);
  }
  if (listing_->is_covered(place)) return Place{.kind = Place::Kind::none};
  return Place{Place::Kind::entry, item_of(page, place.index)};
}

Result<SourceEntry> RemoteFolder::probe(const std::string& name) const {
  return directories_.probe(*listing_, name, net::join_path(path_, name), expected_content(name));
}

Result<FrameSummary> RemoteFolder::summary(const std::string& name) const {
  return directories_.summary(*listing_, name, net::join_path(path_, name), expected_content(name));
}

Result<std::vector<Folder::Item>> RemoteNamesFolder::items() const {
  FRAMEFS_TRY(auto listing, directories_.listings().open(path_));
  return RemoteFolder(directories_, std::move(listing), path_).items();
}

Result<SourceEntry> RemoteNamesFolder::probe(const std::string& name) const {
  FRAMEFS_TRY(const auto listing, directories_.listings().list_for(path_, {name}));
  return directories_.probe(*listing, name, net::join_path(path_, name), expected_content(name));
}

void RemoteNamesFolder::remove_absent(std::vector<std::string>& names) const {
  // After an error all names stay, and probe() reports it.
  const auto listing = directories_.listings().list_for(path_, names);
  if (!listing) return;
  std::erase_if(names, [&](const auto& name) { return !(*listing)->find(name); });
}

Result<std::vector<Folder::Item>> RemoteSingleFolder::items() const {
  std::vector<Item> items;
  for (const auto& page : listing_->pages()) {
    items.push_back({std::string(page->table.name(0)), directories_.inode_of("", false), DT_REG});
  }
  return items;
}

Result<SourceEntry> RemoteSingleFolder::probe(const std::string& name) const {
  return directories_.probe(*listing_, name, "", expected_);
}

}  // namespace framefs::fs

#include "fs/source/folder.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "fs/source/name_policy.h"

namespace framefs::fs {
namespace {

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

bool is_dot(std::string_view name) { return name == "." || name == ".."; }

}  // namespace

Expected Folder::expected(const std::string& name) const { return expected_content(name); }

Result<std::vector<Folder::Item>> items_of(int directory) {
  // A description of its own, so that two listings of one directory do not share a position.
  auto own = open_quietly(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!own) return system_error("opendir");
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own.get()));
  if (!stream) return system_error("opendir");
  [[maybe_unused]] const int moved = own.release();
  std::vector<Folder::Item> items;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return system_error("readdir");
      return items;
    }
    if (!is_dot(entry->d_name)) items.push_back({entry->d_name, entry->d_ino, entry->d_type});
  }
}

Result<std::vector<Folder::Item>> DiskFolder::items() const { return items_of(directory_.get()); }

Result<SourceEntry> NegativeLookupCache::probe(const std::string& name) const {
  if (std::ranges::find(absent_, name) != absent_.end()) return system_error_of(ENOENT, "lookup");
  auto entry = folder_.probe(name);
  if (!entry && entry.error().sys == ENOENT) absent_.push_back(name);
  return entry;
}

Result<std::vector<Folder::Item>> SingleEntryFolder::items() const {
  FRAMEFS_TRY(const auto entry, probe(name_));
  return std::vector<Item>{
      {name_, entry.stat.st_ino, static_cast<unsigned char>(IFTODT(entry.stat.st_mode))}};
}

Result<SourceEntry> SingleEntryFolder::probe(const std::string& name) const {
  if (name != name_) return system_error_of(ENOENT, "lookup");
  return probe_.probe_as(directory_.get(), name, expected_);
}

}  // namespace framefs::fs

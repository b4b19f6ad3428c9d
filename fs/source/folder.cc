#include "fs/source/folder.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "fs/source/directory_items.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {

Expected Folder::expected(const std::string& name) const { return expected_content(name); }

bool Folder::may_be_special(const Item& item) const {
  const bool may_be_read = item.type == DT_REG || item.type == DT_DIR || item.type == DT_UNKNOWN;
  return may_be_read && expected(item.name) != Expected::nothing;
}

Expected DiskFolder::expected(const std::string& name) const {
  if (as_is_ != nullptr && as_is_->covers(path_in(path_, name))) return Expected::nothing;
  return expected_content(name);
}

Result<FrameSummary> DiskFolder::summary_of(const Item& item) const {
  if (item.type != DT_REG) return summary(item.name);
  return probe_.summary_of_file(directory_.get(), item.name, expected(item.name),
                                path_in(path_, item.name));
}

Result<std::vector<Folder::Item>> DiskFolder::items() const {
  return directory_items(directory_.get());
}

bool NegativeLookupCache::is_known_absent(const std::string& name) const {
  return std::ranges::find(absent_, name) != absent_.end();
}

void NegativeLookupCache::remove_absent(std::vector<std::string>& names) const {
  std::erase_if(names, [this](const auto& name) { return is_known_absent(name); });
  if (names.empty()) return;
  const auto asked = names;
  folder_.remove_absent(names);
  std::ranges::copy_if(asked, std::back_inserter(absent_), [&](const auto& name) {
    return std::ranges::find(names, name) == names.end();
  });
}

Result<SourceEntry> NegativeLookupCache::probe(const std::string& name) const {
  if (is_known_absent(name)) return system_error_of(ENOENT, "lookup");
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

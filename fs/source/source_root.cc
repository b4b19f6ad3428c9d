#include "fs/source/source_root.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace framefs::fs {
namespace {

bool links_lead_to(int directory) {
  const auto st = stat_of(directory);
  return !st || st->st_nlink > 0;
}

}  // namespace

SourceRoot::SourceRoot(UniqueFd directory, std::string path)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      has_links_(links_lead_to(directory_.get())) {}

bool SourceRoot::is_removed() const { return has_links_ && !links_lead_to(directory_.get()); }

Result<SourceRoot> SourceRoot::open_directory(const std::filesystem::path& source) {
  UniqueFd fd(::open(source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return system_error("open");
  return SourceRoot(std::move(fd), ".");
}

Result<SourceRoot> SourceRoot::open_entry(const std::filesystem::path& source) {
  FRAMEFS_TRY(const auto place, Place::behind_links(source));
  return entry_at(place);
}

Result<SourceRoot> SourceRoot::entry_at(const Place& place) {
  FRAMEFS_TRY(auto directory, reopen(place.directory(), O_PATH));
  return SourceRoot(std::move(directory), place.name());
}

Result<UniqueFd> SourceRoot::open(const std::string& relative, int flags) const {
  if ((flags & O_PATH) != 0) return open_beneath(directory_.get(), relative, flags);
  // The daemon's reads should not count as accesses.  The system allows O_NOATIME to the owner.
  auto opened = open_beneath(directory_.get(), relative, flags | O_NOATIME);
  if (opened || opened.error().sys != EPERM) return opened;
  return open_beneath(directory_.get(), relative, flags);
}

}  // namespace framefs::fs

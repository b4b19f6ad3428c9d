#include "fs/source/shown_access.h"

namespace framefs::fs {
namespace {

constexpr mode_t kClass = 7;
constexpr unsigned kUser = 6;
constexpr unsigned kGroup = 3;
constexpr unsigned kOther = 0;

constexpr mode_t bits(mode_t mode, unsigned of) { return (mode >> of) & kClass; }

// The rights to files that a directory's mode leaves to a class of users: none without search
// permission, and no changes without write permission.
constexpr mode_t allowed_in(mode_t directory, unsigned of) {
  const auto has = bits(directory, of);
  if ((has & S_IXOTH) == 0) return 0;
  return (has & S_IWOTH) != 0 ? kClass : kClass & ~mode_t{S_IWOTH};
}

constexpr mode_t joined(mode_t user, mode_t group, mode_t other) {
  return (user << kUser) | (group << kGroup) | (other << kOther);
}

constexpr mode_t of_all(mode_t mode) {
  return bits(mode, kUser) & bits(mode, kGroup) & bits(mode, kOther);
}

}  // namespace

void intersect_access(struct stat& content, const struct stat& directory) noexcept {
  constexpr mode_t kRights = joined(kClass, kClass, kClass);
  const mode_t in_directory =
      joined(allowed_in(directory.st_mode, kUser), allowed_in(directory.st_mode, kGroup),
             allowed_in(directory.st_mode, kOther));
  mode_t granted = content.st_mode & in_directory & kRights;
  // A user's class for the index file may differ from the class for the directory.
  const bool is_same_user = content.st_uid == directory.st_uid;
  const bool is_same_group = content.st_gid == directory.st_gid;
  if (!is_same_user) {
    const auto all = of_all(content.st_mode) & of_all(in_directory);
    granted = joined(all, all, all);
  } else if (!is_same_group) {
    const auto shared = bits(content.st_mode, kGroup) & bits(content.st_mode, kOther) &
                        bits(in_directory, kGroup) & bits(in_directory, kOther);
    granted = joined(bits(granted, kUser), shared, shared);
  }
  content.st_uid = directory.st_uid;
  content.st_gid = directory.st_gid;
  content.st_mode = (content.st_mode & ~kRights) | granted;
}

bool grants_reading(const struct stat& chunk, const struct stat& index) noexcept {
  constexpr mode_t kRead = S_IRUSR | S_IRGRP | S_IROTH;
  mode_t granted = chunk.st_mode & kRead;
  // Not compared with the rights to the index, which its owner can take away after an opening.
  if (chunk.st_uid != index.st_uid) return granted == kRead;
  const mode_t needed = index.st_mode & kRead;
  if (chunk.st_gid != index.st_gid && (granted & (S_IRGRP | S_IROTH)) != (S_IRGRP | S_IROTH)) {
    granted &= S_IRUSR;
  }
  return (needed & ~granted) == 0;
}

}  // namespace framefs::fs

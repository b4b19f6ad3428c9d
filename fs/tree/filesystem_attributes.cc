// The part of the filesystem that changes attributes.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/source/sparse_folder.h"
#include "fs/tree/filesystem.h"

namespace framefs::fs {
namespace {

Status change_owner(int fd, const Filesystem::AttributeChange& change) {
  constexpr uid_t kSame = static_cast<uid_t>(-1);
  const int changed = ::fchownat(fd, "", change.user.value_or(kSame), change.group.value_or(kSame),
                                 AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
  if (changed != 0) return system_error("chown");
  return {};
}

Status change_mode(int fd, mode_t mode) {
  if (::chmod(path_of_fd(fd).c_str(), mode) != 0) return system_error("chmod");
  return {};
}

// Who may read a file may look into the directory that it is in SOURCE.
mode_t folder_mode(mode_t mode) {
  const mode_t readable = mode & (S_IRUSR | S_IRGRP | S_IROTH);
  const mode_t allowed =
      mode & (S_IRWXU | S_IRWXG | S_IRWXO) & ~mode_t{S_IXUSR | S_IXGRP | S_IXOTH};
  return allowed | (readable >> 2U);
}

// Runs `change` for the directory of a sparse frame and for all in it but the index, whose attributes
// are those shown: who may not read the frame may not read its chunks.
template <class Change>
Status change_parts(const UniqueFd& folder, const Change& change) {
  FRAMEFS_TRY(const auto parts, sparse_parts(folder.get()));
  for (const auto& name : parts.names) {
    const UniqueFd part(::openat(folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!part && errno == ENOENT) continue;  // of a chunk that was just replaced
    if (!part) return system_error("open");
    FRAMEFS_CHECK(change(part.get(), false));
  }
  return change(folder.get(), true);
}

}  // namespace

Status Filesystem::set_owner(const Node& node, int fd, const AttributeChange& change) const {
  FRAMEFS_TRY(const auto folder, open_sparse(node));
  if (folder) {
    FRAMEFS_CHECK(change_parts(folder, [&](int part, bool) { return change_owner(part, change); }));
  }
  return change_owner(fd, change);
}

Status Filesystem::set_mode(const Node& node, int fd, mode_t mode) const {
  FRAMEFS_TRY(const auto folder, open_sparse(node));
  if (folder) {
    FRAMEFS_CHECK(change_parts(folder, [&](int part, bool is_folder) {
      return change_mode(part, is_folder ? folder_mode(mode) : mode);
    }));
  }
  return change_mode(fd, mode);
}

Status Filesystem::set_times(Node& node, int fd, const timespec& accessed,
                             const timespec& modified) {
  const auto set = [&]() -> Status {
    const timespec times[2] = {accessed, modified};
    if (::utimensat(AT_FDCWD, path_of_fd(fd).c_str(), times, 0) != 0) {
      return system_error("utimensat");
    }
    return {};
  };
  const auto session = modified.tv_nsec == UTIME_OMIT ? nullptr : session_of(node);
  return session ? session->set_mtime(modified, set) : set();
}

// The directory that a sparse frame is; nothing for other files.
Result<UniqueFd> Filesystem::open_sparse(const Node& node) const {
  if (!node.key.shows_frame()) return UniqueFd();
  FRAMEFS_TRY(const auto fd, open_node(node, O_PATH | O_NOFOLLOW));
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  if (!S_ISDIR(st.st_mode)) return UniqueFd();
  return reopen(fd.get(), O_RDONLY | O_DIRECTORY);
}

Result<struct stat> Filesystem::set_attributes(NodeId id, const AttributeChange& change,
                                               OpenFile* file) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  FRAMEFS_CHECK(check_writable(*node));
  // It stands for nothing in SOURCE.
  if (node->key.shown_as == ShownAs::single_entry) return system_error_of(EPERM, "setattr");
  FRAMEFS_TRY(const auto fd, open_attributes(*node));
  // In this order: a new owner takes bits of the mode away, a new size changes times.
  if (change.user || change.group) FRAMEFS_CHECK(set_owner(*node, fd.get(), change));
  if (change.mode) FRAMEFS_CHECK(set_mode(*node, fd.get(), *change.mode));
  if (change.size) FRAMEFS_CHECK(truncate(*node, file, *change.size));
  if (change.accessed || change.modified) {
    constexpr timespec kSame{.tv_sec = 0, .tv_nsec = UTIME_OMIT};
    FRAMEFS_CHECK(set_times(*node, fd.get(), change.accessed.value_or(kSame),
                            change.modified.value_or(kSame)));
  }
  return stat_node(id);
}

Status Filesystem::sync_directory(NodeId id) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  if (!check_writable(*node) || node->key.shown_as != ShownAs::itself)
    return {};  // nothing to be lost
  FRAMEFS_TRY(const auto fd, open_node(*node, O_RDONLY | O_DIRECTORY));
  if (::fsync(fd.get()) != 0) return system_error("fsync");
  return {};
}

}  // namespace framefs::fs

#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fuse_lowlevel.h>

#include "fs/core/mount_options.h"
#include "fs/fuse/ops/handles.h"
#include "fs/fuse/ops/recent_nodes.h"

namespace framefs::fuse {

// The kernel's side of a mount whose SOURCE does not change (--immutable).  The kernel keeps what
// it has learnt.  It opens files and directories by itself, if it can, and sends reads without a
// handle.  Then the daemon keeps open what was read last.

// Longer than any mount lasts.
constexpr double kForever_s = 1e9;

// How long the kernel may trust names and attributes.
inline double trust_s(const fs::MountOptions& options) {
  constexpr double kMilliseconds = 1000;
  return options.immutable ? kForever_s : options.attr_timeout_ms / kMilliseconds;
}

// The files that are open for reads without a handle.  `File` is the type of an open file.
template <class File>
struct OpenByNode {
  static constexpr std::size_t kMaxFiles = 256;
  static constexpr std::size_t kMaxDirectories = 16;

  // Whether the kernel opens files, and directories, by itself.  Set before the first request.
  bool has_files = false;
  bool has_directories = false;
  RecentNodes<File> files{kMaxFiles};
  RecentNodes<FolderHandle> directories{kMaxDirectories};

  // Closes what is open of a node.
  void close(fs::NodeId id) {
    files.remove(id);
    directories.remove(id);
  }
};

// To be called by the operation `init` of an immutable mount.
template <class MountType>
void open_by_node(MountType& mount, fuse_conn_info& connection) {
  mount.by_node.has_files = (connection.capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
  mount.by_node.has_directories = (connection.capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
  connection.want |= connection.capable & FUSE_CAP_CACHE_SYMLINKS;
}

// The open file for a request.  Errors: EBADF; those of opening the file of the node.
template <class MountType>
auto file_of(MountType& mount, fs::NodeId id, const fuse_file_info& info)
    -> decltype(mount.open_file(id)) {
  if (info.fh != 0 || !mount.by_node.has_files) return find_handle(mount.files, info.fh);
  FRAMEFS_TRY(const auto node, mount.tree().find(id));
  return mount.by_node.files.get(node, [&] { return mount.open_file(id); });
}

// The same for a directory.
template <class MountType>
codec::Result<std::shared_ptr<FolderHandle>> folder_of(MountType& mount, fs::NodeId id,
                                                       const fuse_file_info& info) {
  if (info.fh != 0 || !mount.by_node.has_directories) {
    return find_handle(mount.directories, info.fh);
  }
  FRAMEFS_TRY(const auto node, mount.tree().find(id));
  return mount.by_node.directories.get(node, [&]() -> codec::Result<std::shared_ptr<FolderHandle>> {
    auto handle = std::make_shared<FolderHandle>();
    FRAMEFS_TRY(handle->directory, mount.tree().open_directory(id));
    return handle;
  });
}

// The kernel reads nothing of a file of size 0, and opens it itself.  A file of unknown size that
// cannot be read therefore shows one byte, so that its readers get the error.
template <class MountType>
void show_error(const MountType& mount, fs::NodeId id, struct stat& attributes) {
  const bool is_empty = S_ISREG(attributes.st_mode) && attributes.st_size == 0;
  if (!mount.options.immutable || !is_empty || mount.is_readable(id)) return;
  attributes.st_size = 1;
}

// Passes a result on.  If it says that the file of the node has changed, the kernel asks for the
// attributes before it opens the file again, and then for its name.
template <class MountType, class T>
codec::Result<T> noting_change(MountType& mount, fs::NodeId id, codec::Result<T> result) {
  const bool is_changed = !result && result.error().sys == ESTALE;
  if (!is_changed || !mount.options.immutable) return result;
  mount.by_node.close(id);
  // A negative offset invalidates the attributes and no pages.
  if (mount.tree().note_change(id, result.error())) {
    fuse_lowlevel_notify_inval_inode(mount.session, id, -1, 0);
  }
  return result;
}

}  // namespace framefs::fuse

#include "fs/tree/attributes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/source/sparse_frame.h"

namespace framefs::fs {
namespace {

Status change_owner(int fd, const AttributeChange& change) {
  constexpr uid_t kSame = static_cast<uid_t>(-1);
  const int changed = ::fchownat(fd, "", change.user.value_or(kSame), change.group.value_or(kSame),
                                 AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
  if (changed != 0) return system_error("chown");
  return {};
}

Status change_mode(int fd, mode_t mode) {
  // EBADF: an O_PATH descriptor.
  if (::fchmod(fd, mode) == 0) return {};
  if (errno != EBADF || ::chmod(path_of_fd(fd).c_str(), mode) != 0) return system_error("chmod");
  return {};
}

// The mode of the file after a change by the caller.
// Source: setattr_should_drop_suidgid() of Linux, since 6.2.
mode_t without_setid_bits(const struct stat& st, const Changer& caller) {
  const auto mode = st.st_mode;
  if (!S_ISREG(mode)) return mode;
  const bool loses_setgid =
      (mode & S_ISGID) != 0 && ((mode & S_IXGRP) != 0 || !caller.keeps_setgid(st.st_gid));
  return mode & ~mode_t{S_ISUID} & ~(loses_setgid ? mode_t{S_ISGID} : mode_t{0});
}

}  // namespace

// Runs change(file) for the file that has a node's attributes: `opened`, or, of a sparse frame that
// is being written, the index file that it has by then.
Status Attributes::changing(const Node& node, const Attributed& opened,
                            const Change& change) const {
  const auto session = opened.folder ? parts_.writers.table().find(file_key(node)) : nullptr;
  if (!session) return change(opened);
  return session->change_files([&]() -> Status {
    FRAMEFS_TRY(const auto now, open_attributes(node));
    return change(now);
  });
}

Status Attributes::set_owner(const Attributed& file, const AttributeChange& change) {
  if (file.folder) {
    FRAMEFS_CHECK(for_each_part(file.folder.get(),
                                [&](int part, bool) { return change_owner(part, change); }));
  }
  return change_owner(file.fd(), change);
}

Status Attributes::set_mode(const Attributed& file, mode_t mode) {
  if (file.folder) {
    FRAMEFS_CHECK(for_each_part(file.folder.get(), [&](int part, bool is_folder) {
      return change_mode(part, is_folder ? sparse_folder_mode(mode) : mode);
    }));
  }
  return change_mode(file.fd(), mode);
}

Result<bool> Attributes::clear_setid_bits(const Node& node, const Attributed& file,
                                          const Changer& caller, bool needs_owner) const {
  const auto mode = without_setid_bits(file.stat, caller);
  if (mode == file.stat.st_mode) return false;
  if (needs_owner && !caller.owns(file.stat.st_uid)) return false;
  constexpr mode_t kBits = 07777;
  FRAMEFS_CHECK(changing(node, file, [&](const auto& now) { return set_mode(now, mode & kBits); }));
  parts_.writers.note_attributes(file_key(node));
  return true;
}

Result<bool> Attributes::clear_setid_bits(const OpenFile& file, const Changer& caller) const {
  FRAMEFS_TRY(const auto st, file.source.content_stat());
  if (without_setid_bits(st, caller) == st.st_mode) return false;
  FRAMEFS_TRY(const auto opened, open_attributes(*file.node));
  return clear_setid_bits(*file.node, opened, caller, false);
}

Status Attributes::set_times(const Node& node, int fd, const timespec& accessed,
                             const timespec& modified) {
  const auto set = [&]() -> Status {
    const timespec times[2] = {accessed, modified};
    // Linux accepts a descriptor without a path since 5.8.
    if (::utimensat(fd, "", times, AT_EMPTY_PATH) == 0) return {};
    if (errno != EINVAL || ::utimensat(AT_FDCWD, path_of_fd(fd).c_str(), times, 0) != 0) {
      return system_error("utimensat");
    }
    return {};
  };
  const auto session =
      modified.tv_nsec == UTIME_OMIT ? nullptr : parts_.writers.shown_session(node);
  FRAMEFS_CHECK(session ? session->set_mtime(modified, set) : set());
  parts_.writers.note_attributes(file_key(node));
  return {};
}

Result<Attributes::Attributed> Attributes::open_attributes(const Node& node) const {
  Attributed opened;
  // Programs change the attributes of a file that they have just written.  While it has names, none
  // of them needs to be found.
  opened.handle = node.state.with([](const Node::State& state) { return state.handles.file(); });
  if (opened.handle) {
    FRAMEFS_TRY(opened.stat, stat_of(opened.handle->fd()));
    if (opened.stat.st_nlink > 0) return opened;
    opened.handle.reset();
  }
  FRAMEFS_TRY(auto found, parts_.tree.locator().open_with_stat(node, O_PATH | O_NOFOLLOW));
  opened.path = std::move(found.fd);
  opened.stat = found.stat;
  if (!node.key.shows_frame() || !S_ISDIR(found.stat.st_mode)) return opened;
  FRAMEFS_TRY(opened.folder, reopen(opened.path.get(), O_RDONLY | O_DIRECTORY));
  FRAMEFS_TRY(opened.path, open_sparse_index(opened.folder.get(), O_PATH));
  FRAMEFS_TRY(opened.stat, stat_of(opened.path.get()));
  return opened;
}

Result<Attributes::Changed> Attributes::set(NodeId id, const AttributeChange& change,
                                            OpenFile* file) {
  return parts_.tree.with_node(
      id, [&](const std::shared_ptr<Node>& node) { return set(node, change, file); });
}

Result<Attributes::Changed> Attributes::set(const std::shared_ptr<Node>& node,
                                            const AttributeChange& change, OpenFile* file) {
  FRAMEFS_CHECK(parts_.tree.check_writable(*node));
  // The directory around a single entry does not exist in SOURCE.
  if (node->key.shown_as == ShownAs::single_entry) return system_error_of(EPERM, "setattr");
  // Without a handle, this is truncate(2) or O_TRUNC: the kernel can look the name up again.
  if (change.size == 0 && file == nullptr) {
    FRAMEFS_CHECK(parts_.changes.replace_truncated(*node));
  }
  FRAMEFS_TRY(const auto opened, open_attributes(*node));
  FRAMEFS_CHECK(apply(*node, opened, change, file));
  FRAMEFS_TRY(const auto now, parts_.tree.stat_with_content(*node, opened.fd()));
  // After the time was read: a later opening compares the content with that of the pages.
  const bool is_open = std::as_const(*node).state.with(
      [](const Node::State& state) { return state.handles.count() > 0; });
  if (is_open) {
    node->state.with([&](Node::State& state) { state.pages.note_attributes(now.content); });
  }
  return Changed{.stat = now.stat, .is_open = is_open};
}

Status Attributes::apply(Node& node, const Attributed& opened, const AttributeChange& change,
                         OpenFile* file) {
  // The order matters: the bits depend on the old group, a new owner clears bits of the mode, and a
  // new size changes the times.
  if (change.clears_bits_of) {
    // The kernel has checked who may truncate the file.  A request that changes nothing is a
    // chown(2) by any user, or it precedes a write, whose own request clears the bits.
    FRAMEFS_CHECK(clear_setid_bits(node, opened, *change.clears_bits_of, !change.size));
  }
  if (change.user || change.group) {
    FRAMEFS_CHECK(changing(node, opened, [&](const auto& now) { return set_owner(now, change); }));
  }
  if (change.mode) {
    FRAMEFS_CHECK(
        changing(node, opened, [&](const auto& now) { return set_mode(now, *change.mode); }));
  }
  if (change.user || change.group || change.mode) parts_.writers.note_attributes(file_key(node));
  if (change.size) FRAMEFS_CHECK(parts_.changes.truncate(node, file, *change.size));
  if (change.accessed || change.modified) {
    constexpr timespec kSame{.tv_sec = 0, .tv_nsec = UTIME_OMIT};
    FRAMEFS_CHECK(changing(node, opened, [&](const auto& now) {
      return set_times(node, now.fd(), change.accessed.value_or(kSame),
                       change.modified.value_or(kSame));
    }));
  }
  return {};
}

Status Attributes::sync_directory(NodeId id) {
  FRAMEFS_TRY(const auto node, parts_.tree.find(id));
  if (!parts_.tree.check_writable(*node) || node->key.shown_as != ShownAs::itself)
    return {};  // no names that could be lost
  FRAMEFS_TRY(const auto fd, parts_.tree.locator().open(*node, O_RDONLY | O_DIRECTORY));
  if (::fsync(fd.get()) != 0) return system_error("fsync");
  return {};
}

}  // namespace framefs::fs

#include "fs/tree/namespace.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/core/retries.h"
#include "fs/source/acl_access.h"
#include "fs/source/directory_changes.h"

namespace framefs::fs {
// Gives the new entry to the caller.  If that fails, removes the entry.
Result<NodeEntry> Namespace::enter_new(const ParentFolder& parent, const std::string& source_name,
                                       const Caller& caller, mode_t mode) {
  const auto finish = [&]() -> Result<NodeEntry> {
    const UniqueFd fd(::openat(parent.fd(), source_name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return system_error("open");
    FRAMEFS_TRY(const auto st, stat_of(fd.get()));
    FRAMEFS_CHECK(give_new_entry(fd.get(), st, parent.stat, caller.user, caller.group));
    if (S_ISREG(mode)) FRAMEFS_CHECK(set_special_bits(fd.get(), mode));
    FRAMEFS_TRY(const auto seen, parts_.tree.snapshots().take(file_key(st), [&] {
      return parent.folder->probe(source_name);
    }));
    const auto shown_as =
        seen.entry.summary.content == Content::frame ? ShownAs::frame : ShownAs::itself;
    return parts_.tree.enter(parent.node, source_name, shown_as, seen);
  };
  auto entered = finish();
  if (!entered) ::unlinkat(parent.fd(), source_name.c_str(), S_ISDIR(mode) ? AT_REMOVEDIR : 0);
  return entered;
}

Result<NodeEntry> Namespace::make_directory(NodeId parent, const std::string& name, mode_t mode,
                                            const Caller& caller) {
  return parts_.entries.changing([&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto in, parts_.parents.open_for_new(parent, name));
    const auto bits = parts_.new_files.mode_of(in, mode, caller) & kModeBits;
    if (::mkdirat(in.fd(), name.c_str(), bits) != 0) return system_error("mkdir");
    return enter_new(in, name, caller, S_IFDIR | bits);
  });
}

// A whiteout of overlayfs, a character device with the number 0, opens no device.
bool Namespace::may_make(mode_t mode, dev_t device) const {
  const bool is_device = S_ISBLK(mode) || (S_ISCHR(mode) && device != 0);
  return !is_device || makes_devices_;
}

Result<NodeEntry> Namespace::make_node(NodeId parent, const std::string& name, mode_t asked,
                                       dev_t device, const Caller& caller) {
  if (!may_make(asked, device)) return system_error_of(EPERM, "mknod");
  return parts_.entries.changing([&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto in, parts_.parents.open_for_new(parent, name));
    const auto mode = parts_.new_files.mode_of(in, asked, caller);
    if (S_ISREG(mode)) {
      FRAMEFS_TRY(auto plan, parts_.new_files.plan(in, *in.folder, name));
      FRAMEFS_CHECK(parts_.new_files.make(in, plan, mode, caller));
      return enter_new(in, plan.source_name, caller, mode);
    }
    if (::mknodat(in.fd(), name.c_str(), mode, device) != 0) return system_error("mknod");
    return enter_new(in, name, caller, mode);
  });
}

Result<NodeEntry> Namespace::make_symlink(NodeId parent, const std::string& name,
                                          const std::string& target, const Caller& caller) {
  return parts_.entries.changing([&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto in, parts_.parents.open_for_new(parent, name));
    if (::symlinkat(target.c_str(), in.fd(), name.c_str()) != 0) return system_error("symlink");
    return enter_new(in, name, caller, S_IFLNK);
  });
}

Result<NodeEntry> Namespace::make_link(NodeId id, NodeId parent, const std::string& name) {
  return parts_.entries.changing([&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto node, parts_.tree.find(id));
    FRAMEFS_CHECK(parts_.tree.check_writable(*node));
    FRAMEFS_TRY(const auto in, parts_.parents.open_for_new(parent, name));
    FRAMEFS_CHECK(parts_.parents.rules().check_kept_as_is(parts_.parents.path_of(*node),
                                                          parts_.parents.path_of(in, name), false));
    FRAMEFS_TRY(const auto source_name, parts_.entries.link(*node, in, name));
    FRAMEFS_TRY(const auto seen, parts_.tree.snapshots().take(file_key(*node), [&] {
      return in.folder->probe(source_name);
    }));
    return parts_.tree.enter(in.node, source_name, node->key.shown_as, seen);
  });
}

// The opened file, with its size and times after the opening.
Result<Namespace::Created> Namespace::opened_existing(NodeId id, Result<OpenedFile> opened) {
  if (!opened) {
    parts_.tree.forget(id, 1);
    return std::unexpected(opened.error());
  }
  const auto st = parts_.tree.stat_file(*opened->file);
  if (!st) {
    parts_.contents.close(*opened->file);
    parts_.tree.forget(id, 1);
    return std::unexpected(st.error());
  }
  const auto generation = opened->file->node->generation;
  return Created{.entry = {.id = id, .stat = *st, .generation = generation},
                 .opened = std::move(*opened)};
}

Result<Namespace::Created> Namespace::create_file(NodeId parent, const std::string& name,
                                                  mode_t mode, int flags, const Caller& caller) {
  for (Retries retries;;) {
    std::optional<NodeId> existing;
    auto created = parts_.entries.changing(
        [&] { return create_new(parent, name, mode, flags, caller, existing); });
    // Another process has just created the file.  The kernel, which truncates files by setattr,
    // takes the file for new and does not truncate it.
    if (existing) return opened_existing(*existing, parts_.contents.open(*existing, flags));
    // Another program has created the file since it was looked for.
    const bool is_new = created || created.error().sys != EEXIST || (flags & O_EXCL) != 0;
    if (is_new || !retries.are_left()) return created;
  }
}

// If there is such an entry, it is `existing`, and the result an error.
Result<Namespace::Created> Namespace::create_new(NodeId parent, const std::string& name,
                                                 mode_t mode, int flags, const Caller& caller,
                                                 std::optional<NodeId>& existing) {
  FRAMEFS_TRY(const auto in, parts_.parents.open(parent));
  const NegativeLookupCache folder(*in.folder);
  const auto since = parts_.tree.now();
  FRAMEFS_TRY(const auto there, parts_.parents.find_in(folder, name));
  if (there) {
    if ((flags & O_EXCL) != 0) return system_error_of(EEXIST, "create");
    existing =
        parts_.tree.enter_file(in.node, there->source_name, there->shown_as, there->entry, since)
            ->id;
    return system_error_of(EEXIST, "create");
  }
  FRAMEFS_CHECK(parts_.parents.check_new_name(in, name, ShownAs::itself));
  FRAMEFS_TRY(auto plan, parts_.new_files.plan(in, folder, name));
  FRAMEFS_TRY(auto source,
              parts_.new_files.make(in, plan, parts_.new_files.mode_of(in, mode, caller), caller));
  const auto shown_as = plan.frame ? ShownAs::frame : ShownAs::itself;
  SourceEntry entry{.stat = plan.stat, .summary = {}, .index_stat = {}};
  if (plan.frame) entry.summary = NewFiles::summary_of(*plan.frame);
  entry.generation = plan.generation;
  const auto node = parts_.tree.enter_file(in.node, plan.source_name, shown_as, entry, since);
  auto opened = parts_.contents.open_as(node, std::move(source), flags, &plan);
  if (!opened) {
    parts_.tree.forget(node->id, 1);
    return std::unexpected(opened.error());
  }
  const auto st = parts_.tree.stat_new(*opened->file, entry);
  return Created{.entry = {.id = node->id, .stat = st, .generation = node->generation},
                 .opened = std::move(*opened)};
}

Status Namespace::remove_file(NodeId parent, const std::string& name) {
  return parts_.entries.changing([&]() -> Status {
    FRAMEFS_TRY(const auto in, parts_.parents.open(parent));
    FRAMEFS_TRY(const auto entry, parts_.parents.entry(in, name));
    if (is_shown_directory(entry.found)) return system_error_of(EISDIR, "unlink");
    return parts_.entries.remove(entry);
  });
}

Status Namespace::remove_directory(NodeId parent, const std::string& name) {
  return parts_.entries.changing([&]() -> Status {
    FRAMEFS_TRY(const auto in, parts_.parents.open(parent));
    FRAMEFS_TRY(auto found, parts_.parents.find_in(*in.folder, name));
    if (!found) return system_error_of(ENOENT, "rmdir");
    if (!is_shown_directory(*found)) return system_error_of(ENOTDIR, "rmdir");
    // The members of a container cannot be removed one by one, so its directory is never empty.
    if (found->shown_as == ShownAs::container) return system_error_of(EPERM, "rmdir");
    return parts_.entries.remove({in, std::move(*found)});
  });
}

Status Namespace::rename(NodeId parent, const std::string& name, NodeId new_parent,
                         const std::string& new_name, unsigned flags) {
  return parts_.entries.changing([&]() -> Status {
    const bool is_unknown = (flags & ~unsigned{RENAME_NOREPLACE | RENAME_EXCHANGE}) != 0;
    if (is_unknown || flags == (RENAME_NOREPLACE | RENAME_EXCHANGE)) {
      return system_error_of(EINVAL, "rename");
    }
    FRAMEFS_TRY(const auto from, parts_.parents.open(parent));
    FRAMEFS_TRY(const auto to, parts_.parents.open(new_parent));
    FRAMEFS_TRY(const auto moved, parts_.parents.entry(from, name));
    return rename(moved, name, to, new_name, flags);
  });
}

Status Namespace::rename(const NamedEntry& moved, const std::string& name, const ParentFolder& to,
                         const std::string& new_name, unsigned flags) {
  FRAMEFS_TRY(auto there, parts_.parents.find_in(*to.folder, new_name));
  const bool is_directory =
      is_shown_directory(moved.found) || (there && is_shown_directory(*there));
  FRAMEFS_CHECK(parts_.parents.rules().check_kept_as_is(
      parts_.parents.path_of(moved.parent, moved.found.source_name),
      parts_.parents.path_of(to, new_name), is_directory));
  if (!there) {
    if ((flags & RENAME_EXCHANGE) != 0) return system_error_of(ENOENT, "rename");
    FRAMEFS_CHECK(parts_.parents.check_new_name(to, new_name, moved.found.shown_as));
    return parts_.entries.rename(moved, to, new_name);
  }
  if ((flags & RENAME_NOREPLACE) != 0) return system_error_of(EEXIST, "rename");
  FRAMEFS_CHECK(parts_.parents.rules().check_listed(new_name, *there));
  if (file_key(moved.found.entry) == file_key(there->entry)) return {};  // two names of one file
  const NamedEntry target{to, std::move(*there)};
  if ((flags & RENAME_EXCHANGE) != 0) {
    return parts_.entries.exchange(moved, name, target, new_name);
  }
  return parts_.entries.replace(moved, target, new_name);
}

}  // namespace framefs::fs

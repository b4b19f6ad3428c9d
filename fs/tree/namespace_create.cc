// Creation of entries, and the parts that all changes of names share.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "codec/frame/frame_writer.h"
#include "fs/core/file_attributes.h"
#include "fs/core/file_sink.h"
#include "fs/core/retries.h"
#include "fs/source/acl_access.h"
#include "fs/source/directory_changes.h"
#include "fs/source/suffixes.h"
#include "fs/tree/namespace.h"

namespace framefs::fs {
namespace {

constexpr mode_t kModeBits = 07777;

Result<std::vector<std::byte>> empty_frame(const NewFrame& frame) {
  return codec::encode_empty_frame(
      {.encode = frame.encode, .chunksize = frame.chunksize, .checksums = frame.checksums});
}

// The summary of a frame without data, as a probe would find it.
FrameSummary summary_of_new(const NewFrame& frame) {
  return {.content = Content::frame, .chunksize = frame.chunksize};
}

// The state with which a file got its name.  A change of its content since would show in its size
// or its time of modification; the name itself, a new owner and other rights change only ctime.
struct stat stat_at_link(struct stat before, const struct stat& after) {
  const auto was = identity_of(before);
  const auto is = identity_of(after);
  if (was.size == is.size && was.mtime_ns == is.mtime_ns) return after;
  before.st_nlink = 1;
  return before;
}

}  // namespace

std::string Namespace::path_of(const Parent& in, const std::string& name) const {
  return path_in(parts_.locator.nodes().path_of(*in.node), name);
}

Status Namespace::check_new_name(const Parent& in, const std::string& name,
                                 ShownAs shown_as) const {
  return parts_.rules.check_new(parts_.locator.nodes().path_of(*in.node), name,
                                in.folder->expected(name), shown_as);
}

Result<Namespace::Parent> Namespace::open_parent(NodeId id) {
  FRAMEFS_TRY(auto node, parts_.tree.find(id));
  return open_parent(std::move(node));
}

Result<Namespace::Parent> Namespace::open_parent(std::shared_ptr<Node> node) {
  Parent parent;
  parent.node = std::move(node);
  FRAMEFS_CHECK(parts_.tree.check_writable(*parent.node));
  const auto shown_as = parent.node->key.shown_as;
  if (shown_as == ShownAs::single_entry) return system_error_of(EPERM, "directory");
  FRAMEFS_TRY(auto opened, parts_.folders.open_on_disk(*parent.node, O_PATH));
  parent.folder = std::move(opened.folder);
  parent.stat = opened.stat;
  return parent;
}

Result<std::optional<NameMap::Found>> Namespace::find_in(const Folder& folder,
                                                         const std::string& name) const {
  auto found = parts_.names.find(folder, name);
  if (found) return std::optional(std::move(*found));
  if (found.error().sys == ENOENT) return std::optional<NameMap::Found>();
  return std::unexpected(found.error());
}

// Opens the directory in which the entry `new_name` is to be created.
Result<Namespace::Parent> Namespace::open_parent_for(NodeId id, const std::string& new_name) {
  FRAMEFS_TRY(auto parent, open_parent(id));
  FRAMEFS_TRY(const auto there, find_in(*parent.folder, new_name));
  if (there) return system_error_of(EEXIST, "name");
  FRAMEFS_CHECK(check_new_name(parent, new_name, ShownAs::itself));
  return parent;
}

// A list that the entry inherits from its directory takes the place of the umask.  The kernel does
// not know whether there is one, so it leaves the umask to a mount with access control lists.
mode_t Namespace::mode_of_new(const Parent& parent, mode_t mode, const Caller& caller) const {
  if (!has_acls_ || has_default_acl(parent.fd())) return mode;
  return mode & ~caller.umask;
}

// Gives the new entry to the caller.  If that fails, removes the entry.
Result<NodeEntry> Namespace::enter_new(const Parent& parent, const std::string& source_name,
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
  return changing([&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto in, open_parent_for(parent, name));
    const auto bits = mode_of_new(in, mode, caller) & kModeBits;
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
  return changing([&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto in, open_parent_for(parent, name));
    const auto mode = mode_of_new(in, asked, caller);
    if (S_ISREG(mode)) {
      FRAMEFS_TRY(auto plan, plan_file(in, *in.folder, name));
      FRAMEFS_CHECK(make_file(in, plan, mode, caller));
      return enter_new(in, plan.source_name, caller, mode);
    }
    if (::mknodat(in.fd(), name.c_str(), mode, device) != 0) return system_error("mknod");
    return enter_new(in, name, caller, mode);
  });
}

Result<NodeEntry> Namespace::make_symlink(NodeId parent, const std::string& name,
                                          const std::string& target, const Caller& caller) {
  return changing([&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto in, open_parent_for(parent, name));
    if (::symlinkat(target.c_str(), in.fd(), name.c_str()) != 0) return system_error("symlink");
    return enter_new(in, name, caller, S_IFLNK);
  });
}

Result<NodeEntry> Namespace::make_link(NodeId id, NodeId parent, const std::string& name) {
  return changing([&]() -> Result<NodeEntry> {
    FRAMEFS_TRY(const auto node, parts_.tree.find(id));
    FRAMEFS_CHECK(parts_.tree.check_writable(*node));
    FRAMEFS_TRY(const auto in, open_parent_for(parent, name));
    FRAMEFS_TRY(const auto object, parts_.locator.open(*node, O_PATH | O_NOFOLLOW));
    FRAMEFS_TRY(const auto st, stat_of(object.get()));
    // Sparse frames are directories, which can have only one name.
    if (S_ISDIR(st.st_mode)) return system_error_of(EPERM, "link");
    const auto path = parts_.locator.nodes().path_of(*node);
    FRAMEFS_CHECK(parts_.rules.check_kept_as_is(path, path_of(in, name), false));
    const auto summary = [&](Expected expected) {
      if (expected == Expected::nothing || !S_ISREG(st.st_mode)) return FrameSummary{};
      auto fd = reopen(object.get(), O_RDONLY | O_NONBLOCK);
      if (!fd) return FrameSummary{};
      return parts_.probe.probe_open(FileReader(std::move(*fd)), st, expected);
    };
    FRAMEFS_TRY(const auto source_name,
                parts_.names.place(*in.folder, {.asked = {name, node->key.shown_as},
                                                .source_name = path.substr(path.rfind('/') + 1),
                                                .summary = summary,
                                                .leaving = {},
                                                .replaced = {}}));
    FRAMEFS_CHECK(link_file(object.get(), in.fd(), source_name));
    parts_.writers.note_attributes(file_key(*node));
    FRAMEFS_TRY(const auto seen, parts_.tree.snapshots().take(file_key(*node), [&] {
      return in.folder->probe(source_name);
    }));
    return parts_.tree.enter(in.node, source_name, node->key.shown_as, seen);
  });
}

// The file is plain if no frame's name would be shown as asked, or if such a name would be too
// long: a plain file is better than an error.
Result<NewFile> Namespace::plan_file(const Parent& parent, const Folder& folder,
                                     const std::string& name,
                                     std::vector<std::string> leaving) const {
  const auto path = path_of(parent, name);
  NewFile plan{.source_name = name, .frame = parts_.new_frames.frame_for(path)};
  if (parts_.as_is.covers(path)) plan.frame.reset();
  if (!plan.frame) return plan;
  const auto summary = [&](Expected expected) {
    return expected == Expected::frame ? summary_of_new(*plan.frame) : FrameSummary{};
  };
  auto placed = parts_.names.place(folder, {.asked = {name, ShownAs::frame},
                                            .source_name = {},
                                            .summary = summary,
                                            .leaving = std::move(leaving),
                                            .replaced = {}});
  if (placed) {
    plan.source_name = std::move(*placed);
    FRAMEFS_TRY(plan.bytes, empty_frame(*plan.frame));
  } else {
    plan.frame.reset();
  }
  return plan;
}

// Creates the file and opens it for reading and writing, whatever its mode.  Completes `plan`.
Result<BackingFile> Namespace::make_file(const Parent& parent, NewFile& plan, mode_t mode,
                                         const Caller& caller) {
  const auto* const name = plan.source_name.c_str();
  UniqueFd fd;
  // If SOURCE supports files without names, a frame gets its name after its content.  A daemon that
  // is killed in between then leaves no empty file under a frame's name, which the mount would show
  // as an empty file.
  if (plan.frame) {
    fd = open_quietly(parent.fd(), ".", O_RDWR | O_TMPFILE, mode & kModeBits);
  }
  const bool has_name = !fd;
  if (has_name) {
    fd = UniqueFd(::openat(parent.fd(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           mode & kModeBits));
    if (fd) stop_access_times(fd.get());
  }
  if (!fd) return system_error("create");
  const auto fill = [&]() -> Status {
    if (plan.original) FRAMEFS_CHECK(copy_attributes(plan.original.get(), fd.get()));
    FRAMEFS_CHECK(write_fully(fd.get(), 0, plan.bytes));
    FRAMEFS_TRY(const auto st, stat_of(fd.get()));
    if (!plan.original) {
      FRAMEFS_CHECK(give_new_entry(fd.get(), st, parent.stat, caller.user, caller.group));
    }
    FRAMEFS_CHECK(set_special_bits(fd.get(), mode));
    if (!has_name) FRAMEFS_CHECK(link_file(fd.get(), parent.fd(), plan.source_name));
    FRAMEFS_TRY(plan.stat, parts_.probe.stat_open(fd.get()));
    if (!has_name) plan.stat_at_link = stat_at_link(st, plan.stat);
    return {};
  };
  if (const auto filled = fill(); !filled) {
    if (has_name) ::unlinkat(parent.fd(), name, 0);
    return std::unexpected(filled.error());
  }
  return BackingFile::adopt_file(std::move(fd));
}

// Another process has just created the file.  The kernel, which truncates files by setattr, takes
// the file for new and does not truncate it.
Result<OpenedFile> Namespace::open_existing(NodeId id, int flags) {
  FRAMEFS_TRY(const auto node, parts_.tree.find(id));
  if ((flags & O_TRUNC) != 0) FRAMEFS_CHECK(replace_truncated_array(*node));
  FRAMEFS_TRY(auto opened, parts_.contents.open(id, flags));
  if ((flags & O_TRUNC) == 0) return opened;
  auto& file = *opened.file;
  if (const auto cut = parts_.contents.truncate(*file.node, &file, 0); !cut) {
    parts_.contents.close(file);
    return std::unexpected(cut.error());
  }
  return opened;
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
    auto created =
        changing([&] { return create_new(parent, name, mode, flags, caller, existing); });
    if (existing) return opened_existing(*existing, open_existing(*existing, flags));
    // Another program has created the file since it was looked for.
    const bool is_new = created || created.error().sys != EEXIST || (flags & O_EXCL) != 0;
    if (is_new || !retries.are_left()) return created;
  }
}

// If there is such an entry, it is `existing`, and the result an error.
Result<Namespace::Created> Namespace::create_new(NodeId parent, const std::string& name,
                                                 mode_t mode, int flags, const Caller& caller,
                                                 std::optional<NodeId>& existing) {
  FRAMEFS_TRY(const auto in, open_parent(parent));
  const NegativeLookupCache folder(*in.folder);
  const auto since = parts_.locator.nodes().now();
  FRAMEFS_TRY(const auto there, find_in(folder, name));
  if (there) {
    if ((flags & O_EXCL) != 0) return system_error_of(EEXIST, "create");
    existing =
        parts_.tree.enter_file(in.node, there->source_name, there->shown_as, there->entry, since)
            ->id;
    return system_error_of(EEXIST, "create");
  }
  FRAMEFS_CHECK(check_new_name(in, name, ShownAs::itself));
  FRAMEFS_TRY(auto plan, plan_file(in, folder, name));
  FRAMEFS_TRY(auto source, make_file(in, plan, mode_of_new(in, mode, caller), caller));
  const auto shown_as = plan.frame ? ShownAs::frame : ShownAs::itself;
  SourceEntry entry{.stat = plan.stat, .summary = {}, .index_stat = {}};
  if (plan.frame) entry.summary = summary_of_new(*plan.frame);
  entry.generation = parts_.probe.generation_of(source.fd(), plan.stat);
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

}  // namespace framefs::fs

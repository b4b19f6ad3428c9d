// The part of the filesystem that makes new entries.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "codec/frame/frame_writer.h"
#include "fs/core/file_sink.h"
#include "fs/tree/filesystem.h"

namespace framefs::fs {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr mode_t kSetIdBits = S_ISUID | S_ISGID;

// Gives what was just made in `parent` to who asked for it; only root can.  In a directory of its own
// group it has that already.
Status give(int fd, const struct stat& parent, const Filesystem::Caller& caller) {
  if (::geteuid() != 0) return {};
  FRAMEFS_TRY(const auto st, stat_of(fd));
  const gid_t group = (parent.st_mode & S_ISGID) != 0 ? st.st_gid : caller.group;
  if (st.st_uid == caller.user && st.st_gid == group) return {};
  if (::fchownat(fd, "", caller.user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error("chown");
  }
  return {};
}

Status give_special_bits(int fd, mode_t mode) {
  // Changes of owner and writes take them away.
  if ((mode & kSetIdBits) == 0) return {};
  if (::chmod(path_of_fd(fd).c_str(), mode & kModeBits) != 0) return system_error("chmod");
  return {};
}

Result<std::vector<std::byte>> empty_frame(const NewFrame& frame) {
  return codec::encode_empty_frame({.encode = frame.encode, .chunksize = frame.chunksize});
}

// What a frame without data will be under a name.
FrameSummary summary_of_new(Expected expected) {
  FrameSummary summary;
  if (expected == Expected::frame) summary.content = Content::frame;
  return summary;
}

}  // namespace

// What is in a container comes with it; the mount of one entry has no other.
Status Filesystem::check_writable(const Node& node) const {
  const bool in_container = node.key.shown_as == ShownAs::container || node.key.is_member();
  if (options_.read_only || in_container) return system_error_of(EROFS, "write");
  return {};
}

// Of what is to be shown as `look` under a new name.  Names that would make SOURCE show something else
// are left to those who fill SOURCE.
Status Filesystem::check_new_name(const std::string& name, ShownAs shown_as) const {
  const auto expected = expected_content(name);
  const bool is_kept =
      shown_as == ShownAs::container ||
      (options_.keep_suffix && (expected == Expected::frame || shown_as != ShownAs::itself));
  if (is_hidden(name) || (expected != Expected::nothing && !is_kept)) {
    return system_error_of(EPERM, "name");
  }
  return {};
}

Result<Filesystem::Parent> Filesystem::open_parent(NodeId id) {
  Parent parent;
  FRAMEFS_TRY(parent.node, nodes_.find(id));
  FRAMEFS_CHECK(check_writable(*parent.node));
  if (parent.node->key.shown_as == ShownAs::single_entry)
    return system_error_of(EPERM, "directory");
  if (parent.node->key.shown_as != ShownAs::itself) return system_error_of(ENOTDIR, "directory");
  FRAMEFS_TRY(auto fd, open_node(*parent.node, O_PATH | O_DIRECTORY));
  FRAMEFS_TRY(parent.stat, stat_of(fd.get()));
  parent.folder = std::make_unique<DiskFolder>(std::move(fd), probe_);
  return parent;
}

Result<std::optional<NameMap::Found>> Filesystem::find_in(const Folder& folder,
                                                          const std::string& name) {
  auto found = directory_.find(folder, name);
  if (found) return std::optional(std::move(*found));
  if (found.error().sys == ENOENT) return std::optional<NameMap::Found>();
  return std::unexpected(found.error());
}

// The directory in which something is to be made that is called so.
Result<Filesystem::Parent> Filesystem::open_parent_for(NodeId id, const std::string& new_name) {
  FRAMEFS_TRY(auto parent, open_parent(id));
  FRAMEFS_TRY(const auto there, find_in(*parent.folder, new_name));
  if (there) return system_error_of(EEXIST, "name");
  FRAMEFS_CHECK(check_new_name(new_name, ShownAs::itself));
  return parent;
}

std::string Filesystem::shown_path(const Parent& parent, const std::string& name) const {
  const auto path = nodes_.path_of(*parent.node);
  return path == "." ? name : path + "/" + name;
}

Result<Filesystem::Entry> Filesystem::enter_new(const Parent& parent,
                                                const std::string& source_name,
                                                const Caller& caller, mode_t mode) {
  const auto finish = [&]() -> Result<Entry> {
    const UniqueFd fd(::openat(parent.fd(), source_name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return system_error("open");
    FRAMEFS_CHECK(give(fd.get(), parent.stat, caller));
    if (S_ISREG(mode)) FRAMEFS_CHECK(give_special_bits(fd.get(), mode));
    FRAMEFS_TRY(const auto st, stat_of(fd.get()));
    FRAMEFS_TRY(const auto seen,
                see({st.st_dev, st.st_ino}, [&] { return parent.folder->probe(source_name); }));
    const auto shown_as =
        seen.entry.summary.content == Content::frame ? ShownAs::frame : ShownAs::itself;
    return enter(parent.node, source_name, shown_as, seen);
  };
  auto entered = finish();
  if (!entered) ::unlinkat(parent.fd(), source_name.c_str(), S_ISDIR(mode) ? AT_REMOVEDIR : 0);
  return entered;
}

Result<Filesystem::Entry> Filesystem::make_directory(NodeId parent, const std::string& name,
                                                     mode_t mode, const Caller& caller) {
  FRAMEFS_TRY(const auto in, open_parent_for(parent, name));
  if (::mkdirat(in.fd(), name.c_str(), mode & kModeBits) != 0) return system_error("mkdir");
  return enter_new(in, name, caller, S_IFDIR | (mode & kModeBits));
}

Result<Filesystem::Entry> Filesystem::make_node(NodeId parent, const std::string& name, mode_t mode,
                                                dev_t device, const Caller& caller) {
  FRAMEFS_TRY(const auto in, open_parent_for(parent, name));
  if (S_ISREG(mode)) {
    FRAMEFS_TRY(const auto plan, plan_file(in, *in.folder, name));
    FRAMEFS_CHECK(make_file(in, plan, mode, caller));
    return enter_new(in, plan.source_name, caller, mode);
  }
  if (::mknodat(in.fd(), name.c_str(), mode, device) != 0) return system_error("mknod");
  return enter_new(in, name, caller, mode);
}

Result<Filesystem::Entry> Filesystem::make_symlink(NodeId parent, const std::string& name,
                                                   const std::string& target,
                                                   const Caller& caller) {
  FRAMEFS_TRY(const auto in, open_parent_for(parent, name));
  if (::symlinkat(target.c_str(), in.fd(), name.c_str()) != 0) return system_error("symlink");
  return enter_new(in, name, caller, S_IFLNK);
}

Result<Filesystem::Entry> Filesystem::make_link(NodeId id, NodeId parent, const std::string& name) {
  FRAMEFS_TRY(const auto node, nodes_.find(id));
  FRAMEFS_CHECK(check_writable(*node));
  FRAMEFS_TRY(const auto in, open_parent_for(parent, name));
  FRAMEFS_TRY(const auto object, open_node(*node, O_PATH | O_NOFOLLOW));
  FRAMEFS_TRY(const auto st, stat_of(object.get()));
  // Sparse frames are directories, of which there is but one name.
  if (S_ISDIR(st.st_mode)) return system_error_of(EPERM, "link");
  const auto path = nodes_.path_of(*node);
  const auto summary = [&](Expected expected) {
    if (expected == Expected::nothing || !S_ISREG(st.st_mode)) return FrameSummary{};
    auto fd = reopen(object.get(), O_RDONLY | O_NONBLOCK);
    if (!fd) return FrameSummary{};
    return probe_.probe_open(FileReader(std::move(*fd)), st, expected);
  };
  FRAMEFS_TRY(const auto source_name,
              directory_.place(*in.folder, {.asked = {name, node->key.shown_as},
                                            .source_name = path.substr(path.rfind('/') + 1),
                                            .summary = summary,
                                            .leaving = {},
                                            .replaced = {}}));
  if (::linkat(AT_FDCWD, path_of_fd(object.get()).c_str(), in.fd(), source_name.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
    return system_error("link");
  }
  FRAMEFS_TRY(const auto seen, see(file_key(*node), [&] { return in.folder->probe(source_name); }));
  return enter(in.node, source_name, node->key.shown_as, seen);
}

// Where no name that a frame could have would be shown as asked, or it would be too long, the file is
// plain: better that than none.
Result<Filesystem::NewFile> Filesystem::plan_file(const Parent& parent, const Folder& folder,
                                                  const std::string& name) const {
  NewFile plan{.source_name = name, .frame = new_frames_.frame_for(shown_path(parent, name))};
  if (!plan.frame) return plan;
  auto placed = directory_.place(folder, {.asked = {name, ShownAs::frame},
                                          .source_name = {},
                                          .summary = summary_of_new,
                                          .leaving = {},
                                          .replaced = {}});
  if (placed) {
    plan.source_name = std::move(*placed);
    FRAMEFS_TRY(plan.bytes, empty_frame(*plan.frame));
  } else {
    plan.frame.reset();
  }
  return plan;
}

// Open for reading and writing, whatever its mode.
Result<BackingFile> Filesystem::make_file(const Parent& parent, const NewFile& plan, mode_t mode,
                                          const Caller& caller) {
  const auto* const name = plan.source_name.c_str();
  UniqueFd fd;
  // A frame has its name once it is one, where SOURCE can make files without names: a daemon that is
  // killed in between leaves no empty file of a frame's name, which would be shown as just that.
  if (plan.frame) {
    fd = UniqueFd(::openat(parent.fd(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode & kModeBits));
  }
  const bool has_name = !fd;
  if (has_name) {
    fd = UniqueFd(::openat(parent.fd(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           mode & kModeBits));
  }
  if (!fd) return system_error("create");
  const auto fill = [&]() -> Status {
    FRAMEFS_CHECK(give(fd.get(), parent.stat, caller));
    FRAMEFS_CHECK(write_fully(fd.get(), 0, plan.bytes));
    FRAMEFS_CHECK(give_special_bits(fd.get(), mode));
    if (!has_name && ::linkat(AT_FDCWD, path_of_fd(fd.get()).c_str(), parent.fd(), name,
                              AT_SYMLINK_FOLLOW) != 0) {
      return system_error("create");
    }
    return {};
  };
  if (const auto filled = fill(); !filled) {
    if (has_name) ::unlinkat(parent.fd(), name, 0);
    return std::unexpected(filled.error());
  }
  return BackingFile::adopt(std::move(fd));
}

// The file that was opened, with the size and times that it has now that it is open.
Result<Filesystem::Created> Filesystem::created(NodeId id, Result<Opened> opened) {
  if (!opened) {
    forget(id, 1);
    return std::unexpected(opened.error());
  }
  const auto st = stat_file(*opened->file);
  if (!st) {
    close_file(*opened->file);
    forget(id, 1);
    return std::unexpected(st.error());
  }
  return Created{.entry = {id, *st}, .opened = std::move(*opened)};
}

// It was made just now by somebody else: the kernel, which cuts files by setattr, takes it for new.
Result<Filesystem::Opened> Filesystem::open_existing(NodeId id, int flags) {
  FRAMEFS_TRY(auto opened, open_file(id, flags));
  if ((flags & O_TRUNC) == 0) return opened;
  auto& file = *opened.file;
  if (const auto cut = truncate(*file.node, &file, 0); !cut) {
    close_file(file);
    return std::unexpected(cut.error());
  }
  return opened;
}

Result<Filesystem::Created> Filesystem::create_file(NodeId parent, const std::string& name,
                                                    mode_t mode, int flags, const Caller& caller) {
  FRAMEFS_TRY(const auto in, open_parent(parent));
  const NegativeLookupCache folder(*in.folder);
  FRAMEFS_TRY(const auto there, find_in(folder, name));
  if (there) {
    if ((flags & O_EXCL) != 0) return system_error_of(EEXIST, "create");
    const NodeKey key{there->entry.stat.st_dev, there->entry.stat.st_ino, there->shown_as, {}};
    const auto id = nodes_.lookup(in.node, there->source_name, key)->id;
    return created(id, open_existing(id, flags));
  }
  FRAMEFS_CHECK(check_new_name(name, ShownAs::itself));
  FRAMEFS_TRY(const auto plan, plan_file(in, folder, name));
  FRAMEFS_TRY(auto source, make_file(in, plan, mode, caller));
  FRAMEFS_TRY(const auto st, stat_of(source.fd()));
  const NodeKey key{st.st_dev, st.st_ino, plan.frame ? ShownAs::frame : ShownAs::itself, {}};
  const auto node = nodes_.lookup(in.node, plan.source_name, key);
  return created(node->id, open_as(node, std::move(source), flags, plan.frame ? &plan : nullptr));
}

}  // namespace framefs::fs

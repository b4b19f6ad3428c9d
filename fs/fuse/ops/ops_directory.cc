#include <dirent.h>

#include <cstring>
#include <type_traits>

#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/entry_param.h"
#include "fs/fuse/ops/operations.h"
#include "fs/fuse/session/remote_mount.h"

namespace framefs::fuse {
namespace {

// Each listing starts with "." and "..", at offsets 0 and 1; the entries follow.
constexpr std::size_t kDots = 2;
constexpr std::array<const char*, kDots> kDotNames = {".", ".."};

template <class MountType>
void op_opendir(fuse_req_t req, fuse_ino_t node, fuse_file_info* info) {
  answer_for<MountType>(req, "opendir", [&](MountType& mount) -> AnswerOf<MountType> {
    // The kernel opens this directory and all others by itself.
    if (mount.by_node.has_directories) return fs::system_error_of(ENOSYS, "opendir");
    auto handle = std::make_shared<FolderHandle>();
    // A directory on a server has no descriptor.
    if constexpr (std::is_same_v<MountType, Mount>) {
      FRAMEFS_TRY(handle->descriptors, mount.descriptors.take(fuse_req_ctx(req)->uid));
    }
    FRAMEFS_TRY(handle->directory, mount.tree().open_directory(node));
    info->keep_cache = info->cache_readdir = mount.options.immutable;
    return OpendirAnswer{std::move(handle), *info};
  });
}

template <class MountType>
void op_releasedir(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  answer_for<MountType>(req, "releasedir", [&](MountType& mount) -> AnswerOf<MountType> {
    mount.directories.remove(info->fh);
    return Done{};
  });
}

using Listing = std::shared_ptr<const fs::ShownListing>;

// Offset 0 takes a new listing, as rewinddir() promises.  The listing of an immutable mount is the
// same each time.
template <class MountType>
Result<Listing> listing_at(MountType& mount, FolderHandle& handle, std::size_t offset) {
  if (offset > 0 || mount.options.immutable) {
    auto known = handle.listing.with([](const auto& listing) { return listing; });
    if (known) return known;
  }
  FRAMEFS_TRY(auto fresh, mount.tree().open_listing(*handle.directory));
  handle.listing.with([&](auto& listing) { listing = fresh; });
  return fresh;
}

// Collects the reply of a readdir or readdirplus.
class DirectoryBuffer {
 public:
  DirectoryBuffer(fuse_req_t req, std::size_t size) : req_(req), bytes_(size) {}

  // False if the entry did not fit.
  bool add(const char* name, const struct stat& st, std::size_t next) {
    return took(fuse_add_direntry(req_, free(), left(), name, &st, static_cast<off_t>(next)));
  }
  bool add_plus(const char* name, const fuse_entry_param& entry, std::size_t next) {
    return took(
        fuse_add_direntry_plus(req_, free(), left(), name, &entry, static_cast<off_t>(next)));
  }
  [[nodiscard]] bool is_empty() const { return used_ == 0; }
  std::vector<char> take() {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  char* free() { return bytes_.data() + used_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - used_; }
  bool took(std::size_t size) {
    if (size > left()) return false;
    used_ += size;
    return true;
  }

  fuse_req_t req_;
  std::vector<char> bytes_;
  std::size_t used_ = 0;
};

// The attributes that a plain readdir reports: inode number and file type.
struct stat brief_stat(std::uint64_t inode, unsigned char type) {
  struct stat st{};
  st.st_ino = inode;
  st.st_mode = static_cast<mode_t>(DTTOIF(type));
  return st;
}

template <class MountType>
bool add_entry(MountType& mount, DirectoryBuffer& buffer, const fs::OpenFolder& directory,
               const fs::DirectoryEntry& entry, std::size_t next) {
  const auto inode = mount.tree().shown_inode(directory, entry);
  return buffer.add(entry.shown.name.c_str(), brief_stat(inode, entry.source.type), next);
}

// Whether the kernel is to get the attributes of the entries from `offset` on. They are worth their
// cost if the caller looks at the attributes of most entries. A small directory is always answered
// with attributes. For a large directory, earlier lookups tell: many programs read many names
// before they look at the first attributes.
template <class MountType>
bool has_attributes(const MountType& mount, const fs::OpenFolder& directory, off_t offset) {
  if constexpr (requires { mount.looked_up; }) {
    return offset == 0 || mount.looked_up.has_many(directory.node->id);
  }
  return true;  // the kernel has asked for them
}

// Adds an entry without attributes. Its number 0 makes the kernel look the name up when needed.
template <class MountType>
bool add_entry_brief(MountType& mount, DirectoryBuffer& buffer, const fs::OpenFolder& directory,
                     const fs::DirectoryEntry& entry, std::size_t next) {
  fuse_entry_param param{};
  param.attr = brief_stat(mount.tree().shown_inode(directory, entry), entry.source.type);
  return buffer.add_plus(entry.shown.name.c_str(), param, next);
}

template <class MountType>
bool add_entry_plus(MountType& mount, DirectoryBuffer& buffer, const fs::OpenFolder& directory,
                    const fs::DirectoryEntry& entry, std::size_t next) {
  // One request after another would hold up the names.
  if (entry.source.is_costly) return add_entry_brief(mount, buffer, directory, entry, next);
  fuse_entry_param param{};  // number 0: the kernel looks the name up when needed
  param.attr = brief_stat(mount.tree().shown_inode(directory, entry), entry.source.type);
  auto found = mount.tree().lookup(directory, entry);
  if (found) {
    show_error(mount, found->id, found->stat);
    param = entry_param(*found, mount);
  }
  if (buffer.add_plus(entry.shown.name.c_str(), param, next)) return true;
  if (found) mount.tree().forget(found->id, 1);
  return false;
}

// `add` is the function that adds an entry of the listing.
template <class MountType, class AddDot, class Add>
AnswerOf<MountType> read_directory(fuse_req_t req, MountType& mount, FolderHandle& handle,
                                   std::size_t size, off_t from, AddDot add_dot, Add add) {
  auto at = static_cast<std::size_t>(from);
  FRAMEFS_TRY(const auto listing, listing_at(mount, handle, at));
  DirectoryBuffer buffer(req, size);
  for (; at < kDots; ++at) {
    if (!add_dot(buffer, kDotNames[at], at + 1)) return BufferAnswer{buffer.take()};
  }
  const auto was_empty = buffer.is_empty();
  const auto take = [&](const fs::DirectoryEntry& entry, std::uint64_t next) {
    return add(mount, buffer, *handle.directory, entry, kDots + next);
  };
  const auto is_end = listing->read(at - kDots, take);
  // The dots come before an error; the kernel asks again.
  if (!is_end && was_empty) return std::unexpected(is_end.error());
  // The kernel has all entries by now.
  const bool has_all = is_end && *is_end && buffer.is_empty();
  if (has_all) mount.by_node.directories.remove(handle.directory->node->id);
  return BufferAnswer{buffer.take()};
}

template <class MountType>
void op_readdir(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset,
                fuse_file_info* info) {
  answer_for<MountType>(req, "readdir", [&](MountType& mount) -> AnswerOf<MountType> {
    FRAMEFS_TRY(const auto handle, noting_change(mount, node, folder_of(mount, node, *info)));
    const auto inode = handle->directory->node->key.inode;
    const auto add_dot = [&](DirectoryBuffer& buffer, const char* name, std::size_t next) {
      return buffer.add(name, brief_stat(inode, DT_DIR), next);
    };
    return read_directory(req, mount, *handle, size, offset, add_dot, add_entry<MountType>);
  });
}

template <class MountType>
void op_readdirplus(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset,
                    fuse_file_info* info) {
  answer_for<MountType>(req, "readdirplus", [&](MountType& mount) -> AnswerOf<MountType> {
    FRAMEFS_TRY(const auto handle, noting_change(mount, node, folder_of(mount, node, *info)));
    fuse_entry_param dot{};
    dot.attr = brief_stat(handle->directory->node->key.inode, DT_DIR);
    const auto add_dot = [&](DirectoryBuffer& buffer, const char* name, std::size_t next) {
      return buffer.add_plus(name, dot, next);
    };
    const auto add = has_attributes(mount, *handle->directory, offset) ? add_entry_plus<MountType>
                                                                       : add_entry_brief<MountType>;
    return read_directory(req, mount, *handle, size, offset, add_dot, add);
  });
}

template <class MountType>
void add_operations(fuse_lowlevel_ops& table) {
  table.opendir = op_opendir<MountType>;
  table.readdir = op_readdir<MountType>;
  table.readdirplus = op_readdirplus<MountType>;
  table.releasedir = op_releasedir<MountType>;
}

}  // namespace

void add_directory_operations(fuse_lowlevel_ops& table) { add_operations<Mount>(table); }
void add_remote_directory_operations(fuse_lowlevel_ops& table) {
  add_operations<RemoteMount>(table);
}

}  // namespace framefs::fuse

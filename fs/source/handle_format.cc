#include "fs/source/handle_format.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

namespace framefs::fs {
namespace {

using Shape = HandleFormat::Shape;

// Source: kernel, fs/libfs.c, generic_encode_ino32_fh(), which ext2, ext3 and ext4 use.
constexpr Shape kExt{.type = 1, .bytes = 8, .inode_bytes = 4, .generation_at = 4};
// Source: kernel, fs/xfs/xfs_export.c.
constexpr Shape kXfs{.type = 0x81, .bytes = 12, .inode_bytes = 8, .generation_at = 8};
// Source: kernel, fs/btrfs/export.c.  Bytes 8 to 15 are the number of the subvolume.
constexpr Shape kBtrfs{.type = 0x4d, .bytes = 20, .inode_bytes = 8, .generation_at = 16};

// The inode numbers of the roots.  Source: kernel, fs/ext4/ext4.h, EXT4_ROOT_INO, and
// include/uapi/linux/btrfs_tree.h, BTRFS_FIRST_FREE_OBJECTID.
constexpr std::uint64_t kExtRoot = 2;
constexpr std::uint64_t kBtrfsRoot = 256;

// A handle as the system calls take it.
class Handle {
 public:
  Handle() { head().handle_bytes = MAX_HANDLE_SZ; }
  Handle(int type, std::span<const std::byte> bytes) {
    head().handle_type = type;
    head().handle_bytes = static_cast<unsigned>(bytes.size());
    std::ranges::copy(bytes, storage_.begin() + sizeof(file_handle));
  }
  file_handle& head() {
    // The system calls take a struct with the bytes of the handle behind it.  storage_ is aligned.
    void* const begin = storage_.data();
    return *static_cast<file_handle*>(begin);
  }
  std::span<const std::byte> bytes() {
    return std::span(storage_).subspan(sizeof(file_handle), head().handle_bytes);
  }

 private:
  alignas(file_handle) std::array<std::byte, sizeof(file_handle) + MAX_HANDLE_SZ> storage_{};
};

// The bytes of the handle of an open file.
Result<std::span<const std::byte>> read_handle(int fd, const Shape& shape, Handle& handle) {
  int mount = 0;
  if (::name_to_handle_at(fd, "", &handle.head(), &mount, AT_EMPTY_PATH) != 0) {
    return system_error("name_to_handle_at");
  }
  if (handle.head().handle_type != shape.type || handle.bytes().size() != shape.bytes) {
    return system_error_of(EXDEV, "file handle");
  }
  return handle.bytes();
}

// The attributes of one inode of XFS, whose handles need the true generation.
// Source: kernel, fs/xfs/libxfs/xfs_fs.h, XFS_IOC_BULKSTAT (Linux 5.3).
struct XfsBulkstat {
  std::uint64_t inode = 0;  // in: the inode, or the kind of special inode
  std::uint32_t flags = 0;
  std::uint32_t in_count = 1;
  std::uint32_t out_count = 0;
  std::uint32_t group = 0;
  std::array<std::uint64_t, 5> reserved{};
  struct {
    std::uint64_t inode = 0;
    std::array<std::uint64_t, 7> unused{};
    std::uint32_t generation = 0;
    std::array<std::uint32_t, 31> more{};
  } found{};
};
constexpr std::size_t kXfsHeadBytes = 64;
constexpr unsigned long kXfsIocBulkstat = _IOC(_IOC_READ, 'X', 127, kXfsHeadBytes);
constexpr std::uint32_t kXfsSpecial = 1u << 1;
constexpr std::uint64_t kXfsSpecialRoot = 1;
static_assert(sizeof(XfsBulkstat) == kXfsHeadBytes + 192);

// Errors: system; ESTALE if nothing has the inode.
Result<XfsBulkstat> bulkstat(int root, std::uint64_t inode, std::uint32_t flags = 0) {
  XfsBulkstat request;
  request.inode = inode;
  request.flags = flags;
  if (::ioctl(root, kXfsIocBulkstat, &request) != 0) {
    // EINVAL: the number is none of the filesystem, or that of a file of its own.
    return errno == EINVAL ? system_error_of(ESTALE, "bulkstat") : system_error("bulkstat");
  }
  // The kernel goes on to the next inode in use.
  const bool is_found = request.out_count == 1 && (flags != 0 || request.found.inode == inode);
  if (!is_found) return system_error_of(ESTALE, "bulkstat");
  return request;
}

constexpr const char* kOtherFilesystem =
    "SOURCE's filesystem has no file handles that can be rebuilt; --export needs ext2, ext3, ext4, "
    "XFS or Btrfs";
constexpr const char* kNotARoot =
    "SOURCE is not the root of its filesystem; with --export, handles would lead to files outside "
    "of "
    "SOURCE";
constexpr const char* kNotPrivileged =
    "SOURCE's files may not be opened by their handles; --export needs root";

}  // namespace

const HandleFormat::Shape* HandleFormat::shape_of_filesystem(int root) {
  struct statfs st{};
  if (::fstatfs(root, &st) != 0) return nullptr;
  switch (static_cast<std::uint64_t>(st.f_type)) {
    case EXT4_SUPER_MAGIC:
      return &kExt;
    case XFS_SUPER_MAGIC:
      return &kXfs;
    case BTRFS_SUPER_MAGIC:
      return &kBtrfs;
    default:
      return nullptr;
  }
}

Result<HandleFormat> HandleFormat::of(int root) {
  const auto* const shape = shape_of_filesystem(root);
  if (shape == nullptr) return system_error_of(EOPNOTSUPP, kOtherFilesystem);
  Handle handle;
  const auto bytes = read_handle(root, *shape, handle);
  if (!bytes) return system_error_of(EOPNOTSUPP, kOtherFilesystem);
  Bytes copy{};
  std::ranges::copy(*bytes, copy.begin());
  HandleFormat format(*shape, copy);
  FRAMEFS_TRY(const auto st, stat_of(root));
  FRAMEFS_TRY(const auto top, format.root_inode(root));
  if (st.st_ino != top) return system_error_of(EINVAL, kNotARoot);
  // A kernel may refuse rebuilt handles: older ones compare the generation on Btrfs.
  const auto rebuilt = format.open(root, top, std::nullopt, O_PATH);
  if (!rebuilt && rebuilt.error().sys == EPERM) return system_error_of(EPERM, kNotPrivileged);
  if (!rebuilt) return system_error_of(EOPNOTSUPP, kOtherFilesystem);
  return format;
}

Result<std::uint64_t> HandleFormat::root_inode(int root) const {
  if (shape_ == &kExt) return kExtRoot;
  if (shape_ == &kBtrfs) return kBtrfsRoot;
  const auto found = bulkstat(root, kXfsSpecialRoot, kXfsSpecial);
  if (!found && found.error().sys == EPERM) return system_error_of(EPERM, kNotPrivileged);
  if (!found) return system_error_of(EOPNOTSUPP, kOtherFilesystem);
  return found->found.inode;
}

Result<std::uint32_t> HandleFormat::generation_of(int fd) const {
  Handle handle;
  FRAMEFS_TRY(const auto bytes, read_handle(fd, *shape_, handle));
  std::uint32_t generation = 0;
  std::memcpy(&generation, bytes.subspan(shape_->generation_at).data(), sizeof(generation));
  return generation;
}

Result<UniqueFd> HandleFormat::open(int root, std::uint64_t inode,
                                    std::optional<std::uint32_t> generation, int flags) const {
  if (shape_->inode_bytes < sizeof(inode) && inode >> (8 * shape_->inode_bytes) != 0) {
    return system_error_of(ESTALE, "inode");
  }
  if (!generation && shape_ == &kXfs) {
    FRAMEFS_TRY(const auto found, bulkstat(root, inode));
    generation = found.found.generation;
  }
  auto bytes = root_handle_;
  if (shape_->inode_bytes == sizeof(inode)) {
    std::memcpy(bytes.data(), &inode, sizeof(inode));
  } else {
    const auto short_inode = static_cast<std::uint32_t>(inode);
    std::memcpy(bytes.data(), &short_inode, sizeof(short_inode));
  }
  // Ext and Btrfs take generation 0 for any.
  const std::uint32_t number = generation.value_or(0);
  std::memcpy(&bytes[shape_->generation_at], &number, sizeof(number));
  Handle handle(shape_->type, std::span(bytes).first(shape_->bytes));
  // A user may make the file a fifo, or hold a lease of it.
  if ((flags & O_PATH) == 0) flags |= O_NONBLOCK;
  UniqueFd fd(::open_by_handle_at(root, &handle.head(), flags | O_CLOEXEC));
  if (!fd) return system_error("open_by_handle_at");
  return fd;
}

}  // namespace framefs::fs

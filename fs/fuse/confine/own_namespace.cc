#include "fs/fuse/confine/own_namespace.h"

#include <dirent.h>
#include <fcntl.h>
#include <paths.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <ranges>
#include <string>
#include <system_error>
#include <vector>

#include "codec/core/parse_number.h"
#include "fs/core/files/mount_table.h"

namespace framefs::fuse {
namespace {

using codec::Status;

constexpr std::uint64_t kHarmless = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

// Any directory that every system has: the new root is mounted there before it becomes the root.
constexpr const char* kPlaceOfRoot = "/proc";

// A part of the system that the daemon reads.
struct SystemPart {
  const char* path;
  std::uint64_t attributes;
};
constexpr std::array kSystemParts = {
    SystemPart{"/proc", kHarmless},  // descriptors by path; states of callers
    SystemPart{"/sys/devices/system/cpu", kHarmless},
    SystemPart{"/sys/devices/system/node", kHarmless},
    // Libraries that are loaded on demand are mapped for execution.
    SystemPart{"/usr/lib", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV},
    SystemPart{"/usr/lib64", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV},
    SystemPart{"/usr/share/zoneinfo", kHarmless},
    SystemPart{_PATH_DEVNULL, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC},
    SystemPart{_PATH_LOG, kHarmless}};
// Links to the folders of libraries, as most systems have them.
constexpr std::array kLinks = {"/lib", "/lib64"};

// A copy of a tree of mounts, which is not in any namespace yet.
struct Copy {
  std::string path;  // in the new namespace
  fs::UniqueFd mount;
};

// Later mounts in the original tree appear in the copy, and not the reverse.
Result<fs::UniqueFd> copy_mounts(const std::string& path, std::uint64_t attributes) {
  fs::UniqueFd tree(
      ::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (!tree) return fs::system_error("open_tree");
  mount_attr change{};
  change.attr_set = attributes;
  if ((attributes & MOUNT_ATTR_NOATIME) != 0) change.attr_clr = MOUNT_ATTR__ATIME;
  change.propagation = MS_SLAVE;
  if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof(change)) != 0) {
    return fs::system_error("mount_setattr");
  }
  return tree;
}

// A part that this system lacks is left out.
Status copy_system_part(std::vector<Copy>& copies, const std::string& path,
                        std::uint64_t attributes) {
  if (::access(path.c_str(), F_OK) != 0) return {};
  FRAMEFS_TRY(auto mount, copy_mounts(path, attributes | MOUNT_ATTR_RDONLY));
  copies.push_back({path, std::move(mount)});
  return {};
}

Result<std::vector<Copy>> copy_system_parts() {
  std::vector<Copy> copies;
  for (const auto& part : kSystemParts) {
    FRAMEFS_CHECK(copy_system_part(copies, part.path, part.attributes));
  }
  // The socket of the service manager, unless it is an abstract one.
  const char* const listener = std::getenv("NOTIFY_SOCKET");
  if (listener != nullptr && listener[0] == '/') {
    FRAMEFS_CHECK(copy_system_part(copies, listener, kHarmless));
  }
  return copies;
}

// Makes a directory, or an empty file for a mount of anything else, and the directories above.
Status make_place(int root, const Copy& copy) {
  FRAMEFS_TRY(const auto st, fs::stat_of(copy.mount.get()));
  std::string path;
  for (const auto& part : std::filesystem::path(copy.path).relative_path()) {
    if (!path.empty() && ::mkdirat(root, path.c_str(), 0755) != 0 && errno != EEXIST) {
      return fs::system_error("mkdir");
    }
    path += (path.empty() ? "" : "/") + part.string();
  }
  const int made = S_ISDIR(st.st_mode) ? ::mkdirat(root, path.c_str(), 0755)
                                       : ::mknodat(root, path.c_str(), S_IFREG | 0644, 0);
  if (made != 0 && errno != EEXIST) return fs::system_error("mkdir");
  return {};
}

Result<fs::UniqueFd> new_root() {
  const fs::UniqueFd filesystem(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!filesystem) return fs::system_error("fsopen");
  if (::fsconfig(filesystem.get(), FSCONFIG_SET_STRING, "mode", "755", 0) != 0 ||
      ::fsconfig(filesystem.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return fs::system_error("fsconfig");
  }
  fs::UniqueFd root(::fsmount(filesystem.get(), FSMOUNT_CLOEXEC, kHarmless));
  if (!root) return fs::system_error("fsmount");
  return root;
}

void copy_links(int root) {
  for (const auto* const link : kLinks) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(link, error);
    if (error) continue;
    // The root is empty.
    [[maybe_unused]] const int made = ::symlinkat(target.c_str(), root, link + 1);
  }
}

Status attach(int mount, int directory, const char* path) {
  if (::move_mount(mount, "", directory, path, MOVE_MOUNT_F_EMPTY_PATH) == 0) return {};
  return fs::system_error("move_mount");
}

// Fills the new namespace and makes the old mounts unreachable.
// Source: pivot_root(2), "pivot_root(".", ".")".
Status change_root(const std::vector<Copy>& copies) {
  // A mount that is made here appears nowhere else.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return fs::system_error("mount");
  }
  FRAMEFS_TRY(const auto root, new_root());
  copy_links(root.get());
  FRAMEFS_CHECK(attach(root.get(), AT_FDCWD, kPlaceOfRoot));
  for (const auto& copy : copies) {
    FRAMEFS_CHECK(make_place(root.get(), copy));
    FRAMEFS_CHECK(attach(copy.mount.get(), root.get(), copy.path.c_str() + 1));
  }
  mount_attr fixed{};
  fixed.attr_set = MOUNT_ATTR_RDONLY;
  if (::mount_setattr(root.get(), "", AT_EMPTY_PATH, &fixed, sizeof(fixed)) != 0) {
    return fs::system_error("mount_setattr");
  }
  if (::fchdir(root.get()) != 0) return fs::system_error("chdir");
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return fs::system_error("pivot_root");
  if (::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) return fs::system_error("umount");
  return {};
}

// The namespace and directories of this process, for a return.
class Origin {
 public:
  static Result<Origin> here() {
    Origin origin;
    origin.mounts_ = fs::UniqueFd(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    origin.root_ = fs::UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    origin.working_ = fs::UniqueFd(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!origin.mounts_ || !origin.root_ || !origin.working_) return fs::system_error("namespace");
    return origin;
  }
  // setns() leads to the root of the namespace, which may not have been that of this process.
  [[nodiscard]] bool go_back() const {
    return ::setns(mounts_.get(), CLONE_NEWNS) == 0 && ::fchdir(root_.get()) == 0 &&
           ::chroot(".") == 0 && ::fchdir(working_.get()) == 0;
  }

 private:
  fs::UniqueFd mounts_;
  fs::UniqueFd root_;
  fs::UniqueFd working_;
};

// pivot_root() needs a root directory that is a mount; that of a chroot is usually none.
Status check_root() {
  struct statx root{};
  if (::statx(AT_FDCWD, "/", 0, STATX_TYPE, &root) != 0) return fs::system_error("statx");
  if ((root.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) return {};
  return fs::system_error_of(EINVAL, "the root directory is not a mount");
}

Status close_directories() {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir("/proc/self/fd"), ::closedir);
  if (!listing) return fs::system_error("opendir");
  std::vector<int> directories;
  while (const auto* const entry = ::readdir(listing.get())) {
    const auto fd = codec::parse_number<int>(std::string_view(entry->d_name));
    struct stat st{};
    if (!fd || *fd == ::dirfd(listing.get()) || ::fstat(*fd, &st) != 0) continue;
    if (S_ISDIR(st.st_mode)) directories.push_back(*fd);
  }
  for (const int fd : directories) ::close(fd);
  return {};
}

}  // namespace

Result<OwnNamespace> OwnNamespace::enter(const std::filesystem::path& source, bool read_only,
                                         const std::function<void()>& before_closing) {
  std::error_code error;
  const auto real = std::filesystem::canonical(source, error);
  if (error) return fs::system_error_of(error.value(), "SOURCE");
  const bool is_directory = std::filesystem::is_directory(real, error);
  const auto directory = is_directory ? real : real.parent_path();
  if (!directory.has_filename()) return fs::system_error_of(EINVAL, "SOURCE is the root directory");
  FRAMEFS_CHECK(check_root());
  {
    FRAMEFS_TRY(auto copies, copy_system_parts());
    const std::uint64_t fixed = read_only ? MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOATIME : 0;
    FRAMEFS_TRY(auto mount, copy_mounts(directory.string(), kHarmless | fixed));
    // Its path is the same as outside, for logs and for programs that look at the daemon's files.
    copies.push_back({directory.string(), std::move(mount)});
    FRAMEFS_TRY(const auto origin, Origin::here());
    if (::unshare(CLONE_NEWNS) != 0) return fs::system_error("unshare");
    if (auto changed = change_root(copies); !changed) {
      if (!origin.go_back()) return fs::system_error_of(ENOTRECOVERABLE, "namespace");
      return std::unexpected(changed.error());
    }
  }
  before_closing();
  if (!close_directories()) return fs::system_error_of(ENOTRECOVERABLE, "namespace");
  return OwnNamespace(real);
}

void OwnNamespace::remove_mounts_of(dev_t device) {
  // The newest first: an older one may be covered by it.
  for (const auto& mount : fs::mount_table() | std::views::reverse) {
    if (mount.device == device) ::umount2(mount.mountpoint.c_str(), MNT_DETACH);
  }
}

}  // namespace framefs::fuse

#include "fs/fuse/session/inherited_mount.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "codec/core/parse_number.h"
#include "fs/core/files/file.h"
#include "fs/core/files/mount_table.h"

namespace framefs::fuse {
namespace {

// Source: linux/Documentation/admin-guide/devices.txt.
constexpr unsigned kMiscMajor = 10;
constexpr unsigned kFuseMinor = 229;

Status check_descriptor(int fd) {
  if (fd <= STDERR_FILENO) {
    return fs::refusal(EBADF, "MOUNTPOINT is a standard stream, which the daemon closes");
  }
  struct stat st{};
  if (::fstat(fd, &st) != 0) {
    return fs::system_error("MOUNTPOINT is not a descriptor that framefs has inherited");
  }
  if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(kMiscMajor, kFuseMinor)) {
    return fs::refusal(ENODEV, "MOUNTPOINT is a descriptor, but not one of /dev/fuse");
  }
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) != O_RDWR) {
    return fs::refusal(EBADF, "MOUNTPOINT is not open for reading and writing");
  }
  pollfd connection{.fd = fd, .events = POLLIN, .revents = 0};
  if (::poll(&connection, 1, 0) < 0) return fs::system_error("MOUNTPOINT cannot be used");
  if ((connection.revents & POLLERR) != 0) {
    return fs::refusal(ENOTCONN,
                       "MOUNTPOINT is a descriptor of /dev/fuse without a mount: call "
                       "mount(2) with fd=N before framefs starts");
  }
  // The threads that receive requests sleep in read(2), and no other program gets the descriptor.
  if (::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return fs::system_error("MOUNTPOINT cannot be used");
  }
  return {};
}

// The device number of the connection, in the encoding that the kernel uses inside.
// Source: linux/include/linux/kdev_t.h, MINORBITS.
std::optional<dev_t> connection_of(int fd) {
  constexpr std::string_view kKey = "fuse_connection:";
  constexpr unsigned kMinorBits = 20;
  std::ifstream in("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(kKey)) continue;
    const auto digits = line.find_first_not_of(" \t", kKey.size());
    if (digits == line.npos) return std::nullopt;
    const auto number = codec::parse_number<unsigned>(std::string_view(line).substr(digits));
    if (!number) return std::nullopt;
    return makedev(*number >> kMinorBits, *number & ((1U << kMinorBits) - 1));
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> inherited_descriptor(const std::filesystem::path& mountpoint) {
  constexpr std::string_view kFolder = "/dev/fd/";
  const std::string_view text = mountpoint.native();
  if (!text.starts_with(kFolder)) return std::nullopt;
  const auto digits = text.substr(kFolder.size());
  const auto number = codec::parse_number<int>(digits);
  if (!number || *number < 0) return std::nullopt;
  return number;
}

std::optional<InheritedMount> find_inherited_mount(int fuse_fd) {
  const auto device = connection_of(fuse_fd);
  if (!device) return std::nullopt;
  const auto table = fs::mount_table();
  const auto found = std::ranges::find_if(table, [&](const fs::MountTableEntry& entry) {
    return entry.device == *device && entry.type.starts_with("fuse");
  });
  if (found == table.end()) return std::nullopt;
  const auto has = [&](std::string_view word) {
    return fs::has_mount_option(found->filesystem_options, word);
  };
  return InheritedMount{.device = *device,
                        .mountpoint = found->mountpoint,
                        .checks_permissions = has("default_permissions"),
                        .admits_others = has("allow_other")};
}

Status adopt_mount(fs::MountOptions& options) {
  const auto fd = inherited_descriptor(options.mountpoint);
  if (!fd) return fs::refusal(EINVAL, "MOUNTPOINT is not /dev/fd/N");
  if (!options.vfs_options.empty()) {
    return fs::refusal(
        EINVAL, "MOUNTPOINT is mounted already: give noexec, nosuid and the like to its mount(2)");
  }
  if (options.idle_ms != 0) {
    return fs::refusal(
        EINVAL, "MOUNTPOINT is unmounted by the process that mounted it: --idle cannot unmount it");
  }
  FRAMEFS_CHECK(check_descriptor(*fd));
  const auto mount = find_inherited_mount(*fd);
  if (options.allow_other && !mount) {
    return fs::refusal(EPERM,
                       "MOUNTPOINT cannot be seen from here, so that framefs cannot tell "
                       "whether it has default_permissions, which --allow-other needs");
  }
  if (mount && !mount->checks_permissions && (mount->admits_others || options.allow_other)) {
    return fs::refusal(EPERM,
                       "MOUNTPOINT is open to other users, and the kernel does not check their "
                       "permissions: mount it with default_permissions");
  }
  // An unseen mount may admit other users.
  options.allow_other = !mount || mount->admits_others;
  return {};
}

std::filesystem::path path_of_mount(const std::filesystem::path& mountpoint) {
  const auto fd = inherited_descriptor(mountpoint);
  const auto mount = fd ? find_inherited_mount(*fd) : std::nullopt;
  return mount ? mount->mountpoint : mountpoint;
}

}  // namespace framefs::fuse

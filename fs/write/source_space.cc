#include "fs/write/source_space.h"

#include <linux/dqblk_xfs.h>
#include <linux/magic.h>
#include <sys/quota.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace framefs::fs {
namespace {

// Index, trailer and metadata of the filesystem, and what other programs write meanwhile.
constexpr std::uint64_t kMarginBytes = 64u << 20;
// Filesystems that keep no space back from what statfs(2) shows, and that tell by quotactl(2)
// whether they enforce quotas.  btrfs does neither.
constexpr std::array kKnown = {EXT4_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC};

bool enforces_quotas(int fd) {
  fs_quota_stat state{};
  const auto command = static_cast<unsigned>(QCMD(Q_XGETQSTAT, USRQUOTA));
  // A filesystem without quotas of any kind answers ENOSYS.
  if (::syscall(SYS_quotactl_fd, fd, command, 0, &state) != 0) return errno != ENOSYS;
  constexpr auto kEnforced = FS_QUOTA_UDQ_ENFD | FS_QUOTA_GDQ_ENFD | FS_QUOTA_PDQ_ENFD;
  return (state.qs_flags & kEnforced) != 0;
}

}  // namespace

bool may_lack_space(int fd, std::uint64_t bytes) {
  struct statfs about{};
  if (::fstatfs(fd, &about) != 0) return true;
  const bool is_known = std::ranges::any_of(
      kKnown, [&](auto magic) { return about.f_type == static_cast<long>(magic); });
  if (!is_known) return true;
  const auto free = about.f_bavail * static_cast<std::uint64_t>(about.f_bsize);
  if (free < kMarginBytes || (free - kMarginBytes) / 2 < bytes) return true;
  return enforces_quotas(fd);
}

}  // namespace framefs::fs

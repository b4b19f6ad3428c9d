#include "fs/core/files/inotify_reports.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>

namespace framefs::fs {

bool take_inotify_reports(int inotify, const TakeReport& take) {
  constexpr std::size_t kLongest = sizeof(inotify_event) + NAME_MAX + 1;
  alignas(inotify_event) std::array<char, std::size_t{16} << 10> buffer;
  while (true) {
    const auto got = ::read(inotify, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    const auto end = static_cast<std::size_t>(got);
    for (std::size_t at = 0; at < end;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      // The name is padded with zeros.
      const char* const name = buffer.data() + at + sizeof(event);
      take(event.wd, event.mask, {name, ::strnlen(name, event.len)});
      at += sizeof(event) + event.len;
    }
    // The kernel had room for another report, and had none.
    if (end + kLongest <= buffer.size()) return true;
  }
}

bool is_reported_by_inotify(int directory) noexcept {
  constexpr std::array<std::uint32_t, 5> kLocal = {EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                                   F2FS_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC};
  struct statfs filesystem{};
  if (::fstatfs(directory, &filesystem) != 0) return false;
  const auto type = static_cast<std::uint32_t>(filesystem.f_type);
  if (std::ranges::find(kLocal, type) == kLocal.end()) return false;
  // A key that is added or removed changes all names of an encrypted directory without a report.
  struct statx found{};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_TYPE, &found) != 0) return false;
  return (found.stx_attributes & STATX_ATTR_ENCRYPTED) == 0;
}

}  // namespace framefs::fs

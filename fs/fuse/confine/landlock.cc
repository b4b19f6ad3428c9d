#include "fs/fuse/confine/landlock.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace framefs::fuse {
namespace {

// The headers of Debian 12 lack these constants.
constexpr std::uint64_t kTruncate = 1ULL << 14;
constexpr std::uint64_t kDeviceIoctl = 1ULL << 15;

constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kChange =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | kTruncate;
constexpr std::uint64_t kAll = kReading | kChange | LANDLOCK_ACCESS_FS_EXECUTE | kDeviceIoctl;
// The kernel accepts no other rights in a rule for a file that is no directory.
constexpr std::uint64_t kWriteFile =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr std::uint64_t kKeepFiles = kWriteFile | LANDLOCK_ACCESS_FS_READ_DIR |
                                     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;

// The access rights that a version of the kernel interface supports.
std::uint64_t known_to(long version) {
  constexpr long kWithTruncate = 3;
  constexpr long kWithIoctl = 5;
  auto known = kAll;
  if (version < kWithTruncate) known &= ~kTruncate;
  if (version < kWithIoctl) known &= ~kDeviceIoctl;
  return known;
}

std::uint64_t bits_of(Landlock::Access access) {
  switch (access) {
    case Landlock::Access::read:
      return kReading;
    case Landlock::Access::change:
      return kReading | kChange;
    case Landlock::Access::write_file:
      return kWriteFile;
    case Landlock::Access::keep_files:
      return kKeepFiles;
  }
  return 0;
}

// The C library has no wrappers for these system calls.
long create_ruleset(const landlock_ruleset_attr* attributes, std::size_t size, unsigned flags) {
  return ::syscall(SYS_landlock_create_ruleset, attributes, size, flags);
}

}  // namespace

Result<long> Landlock::version() {
  constexpr long kWithRefer = 2;
  const long version = create_ruleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 0) return fs::system_error("landlock");
  if (version < kWithRefer) return fs::system_error_of(EOPNOTSUPP, "landlock");
  return version;
}

Result<Landlock> Landlock::make() {
  FRAMEFS_TRY(const auto version, Landlock::version());
  const auto handled = known_to(version);
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = handled;
  const auto rules = create_ruleset(&attributes, sizeof(attributes), 0);
  if (rules < 0) return fs::system_error("landlock");
  return Landlock(fs::UniqueFd(static_cast<int>(rules)), handled);
}

Status Landlock::allow(int place, Access access) {
  FRAMEFS_TRY(const auto st, fs::stat_of(place));
  landlock_path_beneath_attr rule{};
  rule.allowed_access = bits_of(access) & handled_;
  if (!S_ISDIR(st.st_mode)) rule.allowed_access &= kWriteFile;
  rule.parent_fd = place;
  if (::syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return fs::system_error("landlock");
  }
  return {};
}

Status Landlock::enforce() {
  if (::syscall(SYS_landlock_restrict_self, rules_.get(), 0) != 0) {
    return fs::system_error("landlock");
  }
  return {};
}

}  // namespace framefs::fuse

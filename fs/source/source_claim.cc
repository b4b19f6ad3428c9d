#include "fs/source/source_claim.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <utility>

namespace framefs::fs {
namespace {

// The bytes of a directory that stand for mounts.  A SOURCE that is one file has the two bytes from
// kFirstFile + 2 * inode on, in the directory that it lies in.
constexpr std::uint64_t kHere = 0;
constexpr std::uint64_t kBelow = 2;
constexpr std::uint64_t kFirstFile = 4;
constexpr std::uint64_t kMaxInodes = std::numeric_limits<off_t>::max() / 4;
// Behind the byte of a mount without --writeback follows that of one with it.
constexpr std::uint64_t kWriteback = 1;

constexpr const char* kBusy =
    "SOURCE is used by another writable mount, and one of the two has --writeback; mount one of "
    "them with --ro";

struct flock lock_of_bytes(std::uint64_t begin, std::uint64_t size, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(begin);
  lock.l_len = static_cast<off_t>(size);
  return lock;
}

Status mark_byte(int directory, std::uint64_t byte) {
  auto lock = lock_of_bytes(byte, 1, F_RDLCK);
  if (::fcntl(directory, F_OFD_SETLK, &lock) != 0) return system_error("SOURCE cannot be locked");
  return {};
}

// Whether another mount has marked one of these bytes.
Result<bool> is_byte_marked(int directory, std::uint64_t begin, std::uint64_t size) {
  auto lock = lock_of_bytes(begin, size, F_WRLCK);
  if (::fcntl(directory, F_OFD_GETLK, &lock) != 0) return system_error("SOURCE cannot be locked");
  return lock.l_type != F_UNLCK;
}

Result<UniqueFd> open_claimed(int at, const char* path) {
  UniqueFd fd(::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return system_error("open");
  return fd;
}

// One directory, and what the mount is for it.
struct Claimed {
  int directory;
  std::uint64_t own;                  // the first of the two bytes for this mount
  std::vector<std::uint64_t> others;  // those of mounts that see the same files
};

// Marks first and looks afterwards, so that of two mounts at least one sees the other.
Status claim_directories(const std::vector<Claimed>& all, bool writeback) {
  for (const auto& [directory, own, others] : all) {
    FRAMEFS_CHECK(mark_byte(directory, own + (writeback ? kWriteback : 0)));
  }
  for (const auto& [directory, own, others] : all) {
    for (const auto byte : others) {
      FRAMEFS_TRY(const bool is_busy, writeback ? is_byte_marked(directory, byte, 2)
                                                : is_byte_marked(directory, byte + kWriteback, 1));
      if (is_busy) return refusal(EBUSY, kBusy);
    }
  }
  return {};
}

// Without --writeback, a filesystem without such locks is no obstacle.
Status claim_if_possible(const std::vector<Claimed>& all, bool writeback) {
  auto claimed = claim_directories(all, writeback);
  if (claimed || writeback || claimed.error().sys == EBUSY) return claimed;
  return {};
}

}  // namespace

Result<SourceClaim> SourceClaim::take(const std::filesystem::path& source, bool writeback) {
  struct stat st{};
  if (::stat(source.c_str(), &st) != 0) return system_error("SOURCE cannot be opened");
  const bool is_file = !S_ISDIR(st.st_mode);
  std::error_code none;
  const auto place = std::filesystem::canonical(source, none);
  const auto start = is_file ? place.parent_path() : place;
  std::vector<UniqueFd> held;
  std::vector<Claimed> all;
  auto opened = open_claimed(AT_FDCWD, start.c_str());
  if (is_file) {
    if (!opened) return SourceClaim({});
    const auto own = kFirstFile + 2 * (st.st_ino % kMaxInodes);
    all.push_back({opened->get(), own, {own, kHere}});
    FRAMEFS_CHECK(claim_if_possible(all, writeback));
    all.clear();
  }
  for (bool is_first = !is_file; opened; is_first = false) {
    FRAMEFS_TRY(const auto at, stat_of(opened->get()));
    if (at.st_dev != st.st_dev) break;
    const auto own = is_first ? kHere : kBelow;
    const auto others = is_first ? std::vector{kHere, kBelow} : std::vector{kHere};
    all.push_back({opened->get(), own, others});
    held.push_back(std::move(*opened));
    opened = open_claimed(held.back().get(), "..");
    if (!opened) break;
    FRAMEFS_TRY(const auto above, stat_of(opened->get()));
    if (above.st_ino == at.st_ino && above.st_dev == at.st_dev) break;  // "/"
  }
  FRAMEFS_CHECK(claim_if_possible(all, writeback));
  return SourceClaim(std::move(held));
}

}  // namespace framefs::fs

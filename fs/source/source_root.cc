#include "fs/source/source_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>

namespace framefs::fs {
namespace {

// The C library of Debian 12 has no wrapper for openat2().
Result<UniqueFd> open_beneath(int directory, const char* path, int flags) {
  // The daemon's reads should not count as accesses.  The system allows O_NOATIME to the owner.
  // O_NONBLOCK: a user may put a fifo into any place, or hold a lease of a file.
  if ((flags & O_PATH) == 0) flags |= O_NOATIME | O_NONBLOCK;
  // EAGAIN: an entry was renamed while the kernel checked that the path stays beneath SOURCE; or
  // another process holds a lease, and may keep it for most of a minute.
  constexpr int kMaxAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC));
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const auto fd = ::syscall(SYS_openat2, directory, path, &how, sizeof(how));
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    if (errno == EPERM && (flags & O_NOATIME) != 0) {
      flags &= ~O_NOATIME;
      continue;
    }
    const bool may_change = errno == EINTR || (errno == EAGAIN && attempt < kMaxAttempts);
    if (!may_change) return system_error("open");
  }
}

}  // namespace

Result<SourceRoot> SourceRoot::open_directory(const std::filesystem::path& source) {
  UniqueFd fd(::open(source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return system_error("open");
  return SourceRoot(std::move(fd), ".");
}

Result<SourceRoot> SourceRoot::open_entry(const std::filesystem::path& source) {
  std::error_code error;
  const auto real = std::filesystem::canonical(source, error);
  if (error) return system_error_of(error.value(), "open");
  if (!real.has_filename()) return open_directory(real);
  FRAMEFS_TRY(auto parent, open_directory(real.parent_path()));
  return SourceRoot(std::move(parent.directory_), real.filename().string());
}

Result<UniqueFd> SourceRoot::open(const std::string& relative, int flags) const {
  UniqueFd hop;
  int from = directory_.get();
  std::string rest = relative;
  // The kernel accepts paths below PATH_MAX bytes: longer paths are opened in stages.
  while (rest.size() >= PATH_MAX) {
    const auto cut = rest.rfind('/', PATH_MAX - 1);
    if (cut == std::string::npos) return system_error_of(ENAMETOOLONG, "open");
    FRAMEFS_TRY(hop, open_beneath(from, rest.substr(0, cut).c_str(), O_PATH | O_DIRECTORY));
    from = hop.get();
    rest.erase(0, cut + 1);
  }
  return open_beneath(from, rest.c_str(), flags);
}

}  // namespace framefs::fs

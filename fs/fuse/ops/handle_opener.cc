#include "fs/fuse/ops/handle_opener.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <sstream>
#include <string>

#include <fmt/core.h>

namespace framefs::fuse {
namespace {

// The flags that the daemon may pass.
constexpr int kFlags = O_ACCMODE | O_PATH | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME;

}  // namespace

Result<HandleOpener> HandleOpener::make(fs::UniqueFd source, bool read_only) {
  FRAMEFS_TRY(const auto format, fs::HandleFormat::of(source.get()));
  return HandleOpener(std::move(source), format, read_only);
}

std::string HandleOpener::open_message(std::uint64_t inode, std::optional<std::uint32_t> generation,
                                       int flags) {
  if (!generation) return fmt::format("{} {}", inode, flags);
  return fmt::format("{} {} {}", inode, flags, *generation);
}

Result<fs::UniqueFd> HandleOpener::open(std::string_view open_message) const {
  std::istringstream words{std::string(open_message)};
  std::uint64_t inode = 0;
  int flags = 0;
  words >> inode >> flags;
  if (!words || (flags & ~kFlags) != 0) return fs::system_error_of(EINVAL, "open");
  std::uint32_t number = 0;
  const auto generation = words >> number ? std::optional(number) : std::nullopt;
  FRAMEFS_TRY(auto object, format_.open(source_.get(), inode, generation, O_PATH | O_NOFOLLOW));
  FRAMEFS_TRY(const auto st, fs::stat_of(object.get()));
  // A file that is only still open.
  if (st.st_nlink == 0) return fs::system_error_of(ESTALE, "open");
  if ((flags & O_PATH) != 0) return object;
  if (read_only_ && (flags & O_ACCMODE) != O_RDONLY) return fs::system_error_of(EROFS, "open");
  // To open a device or a pipe has effects of its own.
  if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return fs::system_error_of(EACCES, "open");
  return fs::reopen(object.get(), flags);
}

}  // namespace framefs::fuse

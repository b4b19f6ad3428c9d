#include "src/pack/carried_attributes.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace framefs {
namespace {

// The attributes that a mount adds describe the frame, not its content.
bool is_carried(std::string_view name) {
  if (name.starts_with("user.framefs.")) return false;
  return name.starts_with("user.") || name.starts_with("system.posix_acl_") ||
         (name.starts_with("trusted.") && ::geteuid() == 0);
}

bool is_unsupported(int error) { return error == ENOTSUP || error == EPERM || error == ENODATA; }

using SetXattr = std::function<int(const char* name, const std::vector<char>& value)>;

fs::Status carry_xattrs(const char* from, const SetXattr& set) {
  const auto size = ::listxattr(from, nullptr, 0);
  if (size < 0 && errno == ENOTSUP) return {};
  if (size < 0) return fs::system_error("listxattr");
  std::vector<char> names(static_cast<std::size_t>(size));
  const auto got = ::listxattr(from, names.data(), names.size());
  if (got < 0) return fs::system_error("listxattr");
  for (std::string_view rest(names.data(), static_cast<std::size_t>(got)); !rest.empty();) {
    const std::string name(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (!is_carried(name)) continue;
    const auto length = ::getxattr(from, name.c_str(), nullptr, 0);
    std::vector<char> value(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    if (length < 0 || ::getxattr(from, name.c_str(), value.data(), value.size()) < 0) {
      if (is_unsupported(errno)) continue;
      return fs::system_error("getxattr");
    }
    if (set(name.c_str(), value) != 0 && !is_unsupported(errno))
      return fs::system_error("setxattr");
  }
  return {};
}

std::array<timespec, 2> times_of(const struct stat& st) {
  return {timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, st.st_mtim};
}

}  // namespace

mode_t carried_mode(const struct stat& original, const struct stat& copy) {
  const bool has_owner = copy.st_uid == original.st_uid && copy.st_gid == original.st_gid;
  return original.st_mode & (has_owner ? 07777U : 0777U);
}

fs::Status carry_attributes(int from, const struct stat& st, int to) {
  // These calls take no O_PATH descriptor, but its path, which leads to the object itself.
  const auto path = fs::path_of_fd(to);
  if (::geteuid() == 0) {
    std::ignore = ::fchownat(to, "", st.st_uid, st.st_gid, AT_EMPTY_PATH);
  }
  FRAMEFS_TRY(const auto copy, fs::stat_of(to));
  if (!S_ISLNK(copy.st_mode) && ::chmod(path.c_str(), carried_mode(st, copy)) != 0) {
    return fs::system_error("chmod");
  }
  FRAMEFS_CHECK(carry_xattrs(fs::path_of_fd(from).c_str(),
                             [&path](const char* name, const std::vector<char>& value) {
                               return ::setxattr(path.c_str(), name, value.data(), value.size(), 0);
                             }));
  if (::utimensat(AT_FDCWD, path.c_str(), times_of(st).data(), 0) != 0) {
    return fs::system_error("utimens");
  }
  return {};
}

}  // namespace framefs

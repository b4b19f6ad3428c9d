#include "fs/core/files/file_attributes.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace framefs::fs {
namespace {

Status copy_xattr(int from, int to, const std::string& name) {
  const auto size = ::fgetxattr(from, name.c_str(), nullptr, 0);
  if (size < 0) return system_error("getxattr");
  std::vector<char> value(static_cast<std::size_t>(size));
  const auto got = ::fgetxattr(from, name.c_str(), value.data(), value.size());
  if (got < 0) return system_error("getxattr");
  if (::fsetxattr(to, name.c_str(), value.data(), static_cast<std::size_t>(got), 0) != 0) {
    return system_error("setxattr");
  }
  return {};
}

Status copy_xattrs(int from, int to) {
  const auto size = ::flistxattr(from, nullptr, 0);
  if (size < 0 && errno == ENOTSUP) return {};
  if (size < 0) return system_error("listxattr");
  std::vector<char> names(static_cast<std::size_t>(size));
  const auto got = ::flistxattr(from, names.data(), names.size());
  if (got < 0) return system_error("listxattr");
  std::string_view rest(names.data(), static_cast<std::size_t>(got));
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('\0')));
    FRAMEFS_CHECK(copy_xattr(from, to, name));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  return {};
}

}  // namespace

Status give_owner_and_mode(int to, const struct stat& st, mode_t mode) {
  FRAMEFS_TRY(const auto own, stat_of(to));
  if ((st.st_uid != own.st_uid || st.st_gid != own.st_gid) &&
      ::fchown(to, st.st_uid, st.st_gid) != 0) {
    return system_error("chown");
  }
  // fchmod() comes after fchown(), which clears the setuid and setgid bits.
  if (::fchmod(to, mode) != 0) return system_error("chmod");
  return {};
}

Status copy_attributes(int from, int to) {
  FRAMEFS_TRY(const auto st, stat_of(from));
  FRAMEFS_CHECK(give_owner_and_mode(to, st, st.st_mode & 07777U));
  FRAMEFS_CHECK(copy_xattrs(from, to));
  const std::array<timespec, 2> times{st.st_atim, st.st_mtim};
  if (::futimens(to, times.data()) != 0) return system_error("utimens");
  return {};
}

}  // namespace framefs::fs

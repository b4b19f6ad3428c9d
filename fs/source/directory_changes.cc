#include "fs/source/directory_changes.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "fs/source/blosc2_lock.h"
#include "fs/source/directory_items.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

// Removes the entries of a directory that has only hidden ones.  Returns whether there were any.
Result<bool> remove_hidden_entries(int parent, const std::string& name) {
  const UniqueFd folder(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_error("open");
  FRAMEFS_TRY(const auto items, directory_items(folder.get()));
  for (const auto& item : items) {
    if (!is_hidden(item.name)) return false;
  }
  for (const auto& item : items) {
    if (::unlinkat(folder.get(), item.name.c_str(), 0) != 0) return system_error("unlink");
  }
  return !items.empty();
}

// Root, or a daemon to which a service manager has left this capability.
bool may_change_owners() {
  if (::geteuid() == 0) return true;
  struct Sets {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  } sets;
  if (::syscall(SYS_capget, &sets.header, sets.data.data()) != 0) return false;
  return (sets.data[0].effective & (std::uint32_t{1} << CAP_CHOWN)) != 0;
}

}  // namespace

Status rename_entry(int from, const std::string& name, int to, const std::string& new_name,
                    unsigned flags) {
  if (::renameat2(from, name.c_str(), to, new_name.c_str(), flags) == 0) return {};
  // Some filesystems do not support flags.  A check has just found no entry under the new name.
  const bool is_unknown = flags == RENAME_NOREPLACE && errno == EINVAL;
  if (is_unknown && ::renameat(from, name.c_str(), to, new_name.c_str()) == 0) return {};
  return system_error("rename");
}

Status link_file(int fd, int directory, const std::string& name) {
  // Linux links a descriptor without a path since 6.10.
  if (::linkat(fd, "", directory, name.c_str(), AT_EMPTY_PATH) == 0) return {};
  const bool needs_path = errno == ENOENT || errno == EPERM || errno == EINVAL;
  const auto path = path_of_fd(fd);
  if (!needs_path ||
      ::linkat(AT_FDCWD, path.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return system_error("link");
  }
  return {};
}

Status remove_empty_directory(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return system_error("rmdir");
  FRAMEFS_TRY(const auto again, remove_hidden_entries(parent, name));
  if (!again) return system_error_of(ENOTEMPTY, "rmdir");
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) return system_error("rmdir");
  return {};
}

Status remove_entry(int parent, const std::string& name, bool is_directory) {
  if (is_directory) return remove_empty_directory(parent, name);
  if (::unlinkat(parent, name.c_str(), 0) != 0) return system_error("unlink");
  return {};
}

void rename_lock_file(int from, const std::string& name, int to, const std::string& new_name) {
  const auto before = lock_file_of(name);
  const bool moved =
      ::renameat2(from, before.c_str(), to, lock_file_of(new_name).c_str(), RENAME_NOREPLACE) == 0;
  if (!moved && errno == EEXIST) ::unlinkat(from, before.c_str(), 0);
}

void exchange_lock_files(int one, const std::string& name, int other,
                         const std::string& other_name) {
  const auto first = lock_file_of(name);
  const auto second = lock_file_of(other_name);
  // The two lock files may both exist, or one of them, or neither.
  if (::renameat2(one, first.c_str(), other, second.c_str(), RENAME_EXCHANGE) != 0 &&
      ::renameat2(one, first.c_str(), other, second.c_str(), RENAME_NOREPLACE) != 0) {
    static_cast<void>(::renameat2(other, second.c_str(), one, first.c_str(), RENAME_NOREPLACE));
  }
}

void remove_lock_file(int directory, const std::string& name) {
  ::unlinkat(directory, lock_file_of(name).c_str(), 0);
}

Status give_new_entry(int fd, const struct stat& st, const struct stat& parent, uid_t user,
                      gid_t group) {
  if ((parent.st_mode & S_ISGID) != 0) group = st.st_gid;
  if (st.st_uid == user && st.st_gid == group) return {};
  if (!may_change_owners()) return {};
  if (::fchownat(fd, "", user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error("chown");
  }
  return {};
}

Status set_special_bits(int fd, mode_t mode) {
  if ((mode & (S_ISUID | S_ISGID)) == 0) return {};
  if (::chmod(path_of_fd(fd).c_str(), mode & 07777) != 0) return system_error("chmod");
  return {};
}

}  // namespace framefs::fs

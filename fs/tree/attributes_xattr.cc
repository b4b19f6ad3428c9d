// Extended attributes.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "fs/source/acl_access.h"
#include "fs/tree/attributes.h"
#include "fs/tree/content/frame_attributes.h"

namespace framefs::fs {
namespace {

// Repeats a call that takes a buffer and returns the size it needs, until the buffer is large
// enough.
template <class Call>
Result<std::vector<char>> read_grown(const char* name, const Call& call) {
  while (true) {
    const auto size = call(nullptr, 0);
    if (size < 0) return system_error(name);
    std::vector<char> bytes(static_cast<std::size_t>(size));
    const auto got = call(bytes.data(), bytes.size());
    if (got < 0 && errno == ERANGE) continue;  // the value grew meanwhile
    if (got < 0) return system_error(name);
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }
}

}  // namespace

// Whether the kernel applies the access control list of the node's file to the node.  Members of a
// container are no files in SOURCE; a sparse frame is several files, and a container is a file that
// is shown as a directory.  An error is no answer: if the kernel found no list, it would take the
// mask of the list for the rights of the group.
Result<bool> Attributes::has_own_acl(const Node& node) const {
  const auto shown_as = node.key.shown_as;
  if (!has_acls_ || node.key.is_member()) return false;
  if (shown_as == ShownAs::container || shown_as == ShownAs::single_entry) return false;
  FRAMEFS_TRY(const auto opened, open_attributes(node));
  return !opened.folder;
}

// Whether the attribute of the file in SOURCE is that of the node.
Result<bool> Attributes::passes_through(const Node& node, std::string_view name) const {
  if (is_access_list(name)) return has_own_acl(node);
  return is_shown_attribute(name);
}

// Linux does this for a caller who is not in the group of the file.  The daemon, which sets the
// list for the caller, may keep the bit.
Status Attributes::clear_setgid_bit(const Attributed& file, const KeepsSetgid& keeps_setgid) {
  FRAMEFS_TRY(const auto st, stat_of(file.fd()));
  if ((st.st_mode & S_ISGID) == 0 || keeps_setgid(st.st_gid)) return {};
  constexpr mode_t kKept = 07777 & ~S_ISGID;
  return set_mode(file, st.st_mode & kKept);
}

Result<std::vector<std::string>> Attributes::xattr_names(NodeId id) {
  FRAMEFS_TRY(const auto node, parts_.tree.find(id));
  auto names = parts_.frames.names(*node);
  if (node->key.is_member()) return names;
  FRAMEFS_TRY(const auto opened, open_attributes(*node));
  const auto path = path_of_fd(opened.fd());
  const auto stored = read_grown(
      "listxattr", [&](char* to, std::size_t size) { return ::listxattr(path.c_str(), to, size); });
  // Frames have attributes even if SOURCE supports none.
  if (!stored && stored.error().sys != ENOTSUP) return std::unexpected(stored.error());
  if (!stored) return names;
  std::string_view rest(stored->data(), stored->size());
  while (!rest.empty()) {
    const auto name = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    FRAMEFS_TRY(const bool is_shown, passes_through(*node, name));
    if (is_shown && !name.starts_with(kOwnAttributes)) names.emplace_back(name);
  }
  return names;
}

Result<std::vector<char>> Attributes::xattr(NodeId id, const std::string& name) {
  FRAMEFS_TRY(const auto node, parts_.tree.find(id));
  if (name.starts_with(kOwnAttributes)) return parts_.frames.value(*node, name);
  const bool is_acl = has_acls_ && is_access_list(name);
  if (!is_acl && !is_shown_attribute(name)) return system_error_of(EOPNOTSUPP, "getxattr");
  if (node->key.is_member()) return system_error_of(ENODATA, "getxattr");
  FRAMEFS_TRY(const bool is_there, passes_through(*node, name));
  if (!is_there) return system_error_of(ENODATA, "getxattr");
  FRAMEFS_TRY(const auto opened, open_attributes(*node));
  const auto path = path_of_fd(opened.fd());
  auto value = read_grown("getxattr", [&](char* to, std::size_t size) {
    return ::getxattr(path.c_str(), name.c_str(), to, size);
  });
  // The kernel refuses access if it cannot get a list, but not if there is none.
  if (is_acl && !value && value.error().sys == EOPNOTSUPP) {
    return system_error_of(ENODATA, "getxattr");
  }
  return value;
}

Status Attributes::set_xattr(NodeId id, const std::string& name, std::span<const std::byte> value,
                             int flags, const KeepsSetgid& keeps_setgid) {
  FRAMEFS_TRY(const auto node, parts_.tree.find(id));
  FRAMEFS_CHECK(parts_.tree.check_writable(*node));
  if (name.starts_with(kOwnAttributes)) return parts_.frames.set(*node, name, value, flags);
  FRAMEFS_TRY(const bool is_there, passes_through(*node, name));
  if (!is_there) return system_error_of(EOPNOTSUPP, "setxattr");
  FRAMEFS_TRY(const auto opened, open_attributes(*node));
  FRAMEFS_CHECK(changing(*node, opened, [&](const auto& now) -> Status {
    const auto path = path_of_fd(now.fd());
    if (::setxattr(path.c_str(), name.c_str(), value.data(), value.size(), flags) != 0) {
      return system_error("setxattr");
    }
    return is_access_list(name) ? clear_setgid_bit(now, keeps_setgid) : Status();
  }));
  parts_.writers.note_attributes(file_key(*node));
  return {};
}

Status Attributes::remove_xattr(NodeId id, const std::string& name) {
  FRAMEFS_TRY(const auto node, parts_.tree.find(id));
  FRAMEFS_CHECK(parts_.tree.check_writable(*node));
  if (name.starts_with(kOwnAttributes)) return parts_.frames.remove(*node, name);
  FRAMEFS_TRY(const bool is_there, passes_through(*node, name));
  if (!is_there) return system_error_of(EOPNOTSUPP, "removexattr");
  FRAMEFS_TRY(const auto opened, open_attributes(*node));
  FRAMEFS_CHECK(changing(*node, opened, [&](const auto& now) -> Status {
    if (::removexattr(path_of_fd(now.fd()).c_str(), name.c_str()) != 0) {
      return system_error("removexattr");
    }
    return {};
  }));
  parts_.writers.note_attributes(file_key(*node));
  return {};
}

}  // namespace framefs::fs

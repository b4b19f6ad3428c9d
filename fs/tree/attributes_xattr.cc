// Extended attributes.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "fs/source/acl_access.h"
#include "fs/tree/attributes.h"
#include "fs/tree/frame_attributes.h"

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

// The frame that a node shows.
Result<Attributes::SharedFrame> Attributes::open_frame(Node& node) {
  FRAMEFS_TRY(const auto source, parts_.locator.open_file(node));
  FRAMEFS_TRY(auto lock, parts_.lock_files.share(node, source, true));
  FRAMEFS_TRY(auto origin, parts_.containers.origin_of(node, source));
  auto opened = open_frame_at(origin, limits_);
  if (!opened) return std::unexpected(opened.error());
  return SharedFrame{std::move(lock), {std::move(origin), std::move(*opened)}};
}

// The attributes of a frame that are listed; empty if there is no frame that can be opened.
// Copying tools try to set every attribute that they see, but those that describe the frame cannot
// be set.  Hence these are listed on request only.
std::vector<std::string> Attributes::frame_xattr_names(Node& node) {
  if (!node.key.shows_frame()) return {};
  const auto shared = open_frame(node);
  if (!shared) return {};
  const auto& opened = shared->opened;
  auto names = lists_info_ ? frame_attribute_names(opened.frame) : std::vector<std::string>{};
  std::vector<std::string> others;
  if (const auto session = parts_.writers.shown_session(node)) {
    for (const auto& layer : session->vlmeta_names()) {
      auto name = attribute_of_layer(kVlmetaAttributes, layer);
      if (!name.empty()) others.push_back(std::move(name));
    }
  } else {
    others = vlmeta_attribute_names(opened.frame);
  }
  std::ranges::move(others, std::back_inserter(names));
  return names;
}

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
  FRAMEFS_TRY(const auto st, stat_of(file.fd.get()));
  if ((st.st_mode & S_ISGID) == 0 || keeps_setgid(st.st_gid)) return {};
  constexpr mode_t kKept = 07777 & ~S_ISGID;
  return set_mode(file, st.st_mode & kKept);
}

Result<std::vector<std::string>> Attributes::xattr_names(NodeId id) {
  FRAMEFS_TRY(const auto node, parts_.tree.find(id));
  auto names = frame_xattr_names(*node);
  if (node->key.is_member()) return names;
  FRAMEFS_TRY(const auto opened, open_attributes(*node));
  const auto path = path_of_fd(opened.fd.get());
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

Result<std::vector<char>> Attributes::frame_xattr(Node& node, std::string_view name) {
  const auto missing = system_error_of(ENODATA, "getxattr");
  if (!node.key.shows_frame()) return missing;
  FRAMEFS_TRY(const auto shared, open_frame(node));
  const auto session = parts_.writers.shown_session(node);
  if (!session || !name.starts_with(kVlmetaAttributes)) {
    return frame_attribute(shared.opened, name, limits_);
  }
  FRAMEFS_TRY(const auto content, session->vlmeta(name.substr(kVlmetaAttributes.size())));
  if (!content) return missing;
  return attribute_value(*content);
}

Result<std::vector<char>> Attributes::xattr(NodeId id, const std::string& name) {
  FRAMEFS_TRY(const auto node, parts_.tree.find(id));
  if (name.starts_with(kOwnAttributes)) return frame_xattr(*node, name);
  const bool is_acl = has_acls_ && is_access_list(name);
  if (!is_acl && !is_shown_attribute(name)) return system_error_of(EOPNOTSUPP, "getxattr");
  if (node->key.is_member()) return system_error_of(ENODATA, "getxattr");
  FRAMEFS_TRY(const bool is_there, passes_through(*node, name));
  if (!is_there) return system_error_of(ENODATA, "getxattr");
  FRAMEFS_TRY(const auto opened, open_attributes(*node));
  const auto path = path_of_fd(opened.fd.get());
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
  if (name.starts_with(kVlmetaAttributes) && node->key.shows_frame()) {
    const bool is_there = frame_xattr(*node, name).has_value();
    if (is_there && (flags & XATTR_CREATE) != 0) return system_error_of(EEXIST, "setxattr");
    if (!is_there && (flags & XATTR_REPLACE) != 0) return system_error_of(ENODATA, "setxattr");
    return parts_.writers.with_session(*node, [&](FrameWriteSession& session) {
      return session.set_vlmeta(std::string_view(name).substr(kVlmetaAttributes.size()), value,
                                FrameWriteSession::Existing::any);
    });
  }
  if (name.starts_with(kOwnAttributes)) return system_error_of(EPERM, "setxattr");
  FRAMEFS_TRY(const bool is_there, passes_through(*node, name));
  if (!is_there) return system_error_of(EOPNOTSUPP, "setxattr");
  FRAMEFS_TRY(const auto opened, open_attributes(*node));
  const auto path = path_of_fd(opened.fd.get());
  if (::setxattr(path.c_str(), name.c_str(), value.data(), value.size(), flags) != 0) {
    return system_error("setxattr");
  }
  if (is_access_list(name)) FRAMEFS_CHECK(clear_setgid_bit(opened, keeps_setgid));
  parts_.writers.note_attributes(file_key(*node));
  return {};
}

Status Attributes::remove_xattr(NodeId id, const std::string& name) {
  FRAMEFS_TRY(const auto node, parts_.tree.find(id));
  FRAMEFS_CHECK(parts_.tree.check_writable(*node));
  if (name.starts_with(kOwnAttributes)) {
    FRAMEFS_TRY([[maybe_unused]] const auto value, frame_xattr(*node, name));
    if (!name.starts_with(kVlmetaAttributes)) return system_error_of(EPERM, "removexattr");
    return parts_.writers.with_session(*node, [&](FrameWriteSession& session) {
      return session.set_vlmeta(std::string_view(name).substr(kVlmetaAttributes.size()),
                                std::nullopt, FrameWriteSession::Existing::must);
    });
  }
  FRAMEFS_TRY(const bool is_there, passes_through(*node, name));
  if (!is_there) return system_error_of(EOPNOTSUPP, "removexattr");
  FRAMEFS_TRY(const auto opened, open_attributes(*node));
  if (::removexattr(path_of_fd(opened.fd.get()).c_str(), name.c_str()) != 0) {
    return system_error("removexattr");
  }
  parts_.writers.note_attributes(file_key(*node));
  return {};
}

}  // namespace framefs::fs

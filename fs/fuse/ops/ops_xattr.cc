#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "codec/core/parse_number.h"
#include "fs/core/threads/may_wait.h"
#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/commit_attribute.h"
#include "fs/fuse/ops/operations.h"
#include "fs/fuse/ops/setid_bits.h"
#include "fs/fuse/session/remote_mount.h"

namespace framefs::fuse {
namespace {

// A caller that passes no buffer (`room` 0) gets the size that its buffer needs.
template <class MountType>
AnswerOf<MountType> answer_bytes(std::vector<char> bytes, std::size_t room) {
  if (room == 0) return SizeAnswer{bytes.size()};
  if (bytes.size() > room) return fs::system_error_of(ERANGE, "xattr");
  return BufferAnswer{std::move(bytes)};
}

std::string log_json(fs::Log& log, std::uint64_t from) {
  // An attribute has at most 64 KiB, and JSON can double a line.
  constexpr std::size_t kMaxPageBytes = 24u << 10;
  using Json = nlohmann::ordered_json;
  const auto page = log.recent(from, kMaxPageBytes);
  const Json json{{"first", page.first}, {"lines", page.lines}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The text of an attribute by which the daemon tells of itself; empty for any other attribute.
template <class MountType>
std::optional<std::string> own_text(const MountType& mount, fuse_ino_t node,
                                    std::string_view name) {
  if (node != FUSE_ROOT_ID) return std::nullopt;
  if (name == kStatsAttribute) return mount.stats();
  const std::string_view prefix = kLogAttribute;
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto line = codec::parse_number<std::uint64_t>(name.substr(prefix.size()));
  return line ? std::optional(log_json(mount.log, *line)) : std::nullopt;
}

// Statistics, log and losses contain paths and the activity of other users.
bool may_ask(fuse_req_t req) {
  const auto asker = fuse_req_ctx(req)->uid;
  return asker == 0 || asker == ::geteuid();
}

bool asks_for_commit(fuse_ino_t node, std::string_view name) {
  return node == FUSE_ROOT_ID && name == kCommitAttribute;
}

// Nothing is written to a remote mount.
AnswerOf<RemoteMount> answer_commit(const RemoteMount&, std::size_t room) {
  return answer_bytes<RemoteMount>({}, room);
}

Result<Answer> answer_commit(const Mount& mount, std::size_t room) {
  if (!fs::may_wait()) return std::unexpected(fs::would_wait().error());
  const auto losses = mount.filesystem.commit_all();
  std::vector<char> text;
  bool has_more = losses.unnamed() > 0;
  for (const auto& name : losses.names()) {
    const bool fits = text.size() + name.size() + 2 <= kMaxCommitBytes;
    has_more = has_more || !fits;
    if (!fits) continue;
    text.insert(text.end(), name.begin(), name.end());
    text.push_back('\0');
  }
  if (has_more) text.push_back('\0');
  return answer_bytes<Mount>(std::move(text), room);
}

template <class MountType>
void op_getxattr(fuse_req_t req, fuse_ino_t node, const char* name, std::size_t size) {
  answer_for<MountType>(req, "getxattr", [&](MountType& mount) -> AnswerOf<MountType> {
    if (const auto text = own_text(mount, node, name)) {
      if (!may_ask(req)) return fs::system_error_of(EPERM, "statistics");
      return answer_bytes<MountType>({text->begin(), text->end()}, size);
    }
    if (asks_for_commit(node, name)) {
      if (!may_ask(req)) return fs::system_error_of(EPERM, "commit");
      return answer_commit(mount, size);
    }
    FRAMEFS_TRY(auto value, mount.attributes().xattr(node, name));
    return answer_bytes<MountType>(std::move(value), size);
  });
}

template <class MountType>
void op_listxattr(fuse_req_t req, fuse_ino_t node, std::size_t size) {
  answer_for<MountType>(req, "listxattr", [&](MountType& mount) -> AnswerOf<MountType> {
    FRAMEFS_TRY(const auto names, mount.attributes().xattr_names(node));
    std::vector<char> list;
    for (const auto& name : names) {
      list.insert(list.end(), name.begin(), name.end());
      list.push_back('\0');
    }
    return answer_bytes<MountType>(std::move(list), size);
  });
}

void op_setxattr(fuse_req_t req, fuse_ino_t node, const char* name, const char* value,
                 std::size_t size, int flags) {
  answer(req, "setxattr", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_CHECK(mount.filesystem.attributes().set_xattr(
        node, name, std::as_bytes(std::span(value, size)), flags,
        [req, &mount](gid_t group) { return belongs_to(req, mount, group); }));
    return Done{};
  });
}

void op_removexattr(fuse_req_t req, fuse_ino_t node, const char* name) {
  answer(req, "removexattr", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_CHECK(mount.filesystem.attributes().remove_xattr(node, name));
    return Done{};
  });
}

}  // namespace

void add_xattr_operations(fuse_lowlevel_ops& table) {
  table.getxattr = op_getxattr<Mount>;
  table.listxattr = op_listxattr<Mount>;
  table.setxattr = op_setxattr;
  table.removexattr = op_removexattr;
}

void add_remote_xattr_operations(fuse_lowlevel_ops& table) {
  table.getxattr = op_getxattr<RemoteMount>;
  table.listxattr = op_listxattr<RemoteMount>;
}

}  // namespace framefs::fuse

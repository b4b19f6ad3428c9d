#include <cerrno>
#include <span>
#include <string_view>

#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/entry_param.h"
#include "fs/fuse/ops/operations.h"
#include "fs/fuse/session/remote_mount.h"

namespace framefs::fuse {
namespace {

// With FUSE_CAP_EXPORT_SUPPORT, the kernel looks up "." in a node that it knows from a file handle
// alone, which may be any number, and ".." in a directory that it found this way.
template <class MountType>
void op_lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  answer_for<MountType>(req, "lookup", [&](MountType& mount) -> AnswerOf<MountType> {
    const std::string_view wanted(name);
    if (wanted == "." || wanted == "..") {
      FRAMEFS_TRY(auto entry, wanted == "." ? mount.tree().lookup_number(parent)
                                            : mount.tree().lookup_parent(parent));
      return EntryAnswer{entry};
    }
    auto found = noting_change(mount, parent, mount.tree().lookup(parent, name));
    // The kernel keeps the answer that there is no such name.
    const bool is_absent = !found && found.error().sys == ENOENT;
    if (is_absent && mount.options.immutable) return EntryAnswer{};
    FRAMEFS_TRY(auto entry, std::move(found));
    show_error(mount, entry.id, entry.stat);
    if constexpr (requires { mount.looked_up; }) mount.looked_up.note(parent);
    return EntryAnswer{entry};
  });
}

template <class MountType>
void forget(MountType& mount, fs::NodeId node, std::uint64_t lookups) {
  if (mount.options.immutable) mount.by_node.close(node);
  mount.tree().forget(node, lookups);
}

template <class MountType>
void op_forget(fuse_req_t req, fuse_ino_t node, std::uint64_t lookups) {
  forget(*static_cast<MountType*>(fuse_req_userdata(req)), node, lookups);
  fuse_reply_none(req);
}

template <class MountType>
void op_forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  auto& mount = *static_cast<MountType*>(fuse_req_userdata(req));
  for (const auto& [node, lookups] : std::span(forgets, count)) forget(mount, node, lookups);
  fuse_reply_none(req);
}

void op_getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info* info) {
  answer(req, "getattr", [&](Mount& mount) -> Result<Answer> {
    // The kernel passes the handle if the file is open. The handle is preferred: the name may be
    // gone or may lead to another file by now.
    if (info == nullptr || info->fh == 0) {
      FRAMEFS_TRY(auto st, mount.filesystem.tree().stat_node(node));
      show_error(mount, node, st);
      return AttrAnswer{st};
    }
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    FRAMEFS_TRY(const auto st, mount.filesystem.tree().stat_file(*file));
    return AttrAnswer{st};
  });
}

void op_readlink(fuse_req_t req, fuse_ino_t node) {
  answer(req, "readlink", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(auto target, mount.filesystem.tree().read_link(node));
    return LinkAnswer{std::move(target)};
  });
}

void op_access(fuse_req_t req, fuse_ino_t node, int mask) {
  answer(req, "access", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_CHECK(mount.filesystem.tree().check_access(node, mask));
    return Done{};
  });
}

void op_statfs(fuse_req_t req, fuse_ino_t) {
  answer(req, "statfs", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto st, mount.filesystem.tree().stat_filesystem());
    return StatfsAnswer{st};
  });
}

template <class MountType>
void add_common_operations(fuse_lowlevel_ops& table) {
  table.lookup = op_lookup<MountType>;
  table.forget = op_forget<MountType>;
  table.forget_multi = op_forget_multi<MountType>;
}

}  // namespace

void add_remote_node_operations(fuse_lowlevel_ops& table) {
  add_common_operations<RemoteMount>(table);
}

void add_node_operations(fuse_lowlevel_ops& table) {
  add_common_operations<Mount>(table);
  table.getattr = op_getattr;
  table.readlink = op_readlink;
  table.access = op_access;
  table.statfs = op_statfs;
}

}  // namespace framefs::fuse

#include <span>

#include "fs/fuse/answer.h"
#include "fs/fuse/operations.h"

namespace framefs::fuse {
namespace {

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  answer(req, "lookup", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(auto entry, mount.filesystem.tree().lookup(parent, name));
    return EntryAnswer{entry};
  });
}

void op_forget(fuse_req_t req, fuse_ino_t node, std::uint64_t lookups) {
  static_cast<Mount*>(fuse_req_userdata(req))->filesystem.tree().forget(node, lookups);
  fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  auto& filesystem = static_cast<Mount*>(fuse_req_userdata(req))->filesystem;
  for (const auto& [node, lookups] : std::span(forgets, count))
    filesystem.tree().forget(node, lookups);
  fuse_reply_none(req);
}

void op_getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info* info) {
  answer(req, "getattr", [&](Mount& mount) -> Result<Answer> {
    // The kernel passes the handle if the file is open. The handle is preferred: the name may be
    // gone or may lead to another file by now.
    if (info == nullptr) {
      FRAMEFS_TRY(const auto st, mount.filesystem.tree().stat_node(node));
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

}  // namespace

void add_node_operations(fuse_lowlevel_ops& table) {
  table.lookup = op_lookup;
  table.forget = op_forget;
  table.forget_multi = op_forget_multi;
  table.getattr = op_getattr;
  table.readlink = op_readlink;
  table.access = op_access;
  table.statfs = op_statfs;
}

}  // namespace framefs::fuse

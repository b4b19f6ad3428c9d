#include <sys/stat.h>

#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/operations.h"
#include "fs/fuse/ops/setid_bits.h"

namespace framefs::fuse {
namespace {

fs::Caller caller_of(fuse_req_t req) {
  const auto* const context = fuse_req_ctx(req);
  return {.user = context->uid, .group = context->gid, .umask = context->umask};
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  answer(req, "mkdir", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto entry,
                mount.filesystem.names().make_directory(parent, name, mode, caller_of(req)));
    return EntryAnswer{entry};
  });
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  answer(req, "mknod", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto entry,
                mount.filesystem.names().make_node(parent, name, mode, device, caller_of(req)));
    return EntryAnswer{entry};
  });
}

void op_symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name) {
  answer(req, "symlink", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto entry,
                mount.filesystem.names().make_symlink(parent, name, target, caller_of(req)));
    return EntryAnswer{entry};
  });
}

void op_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  answer(req, "link", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto entry, mount.filesystem.names().make_link(node, parent, name));
    return EntryAnswer{entry};
  });
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode,
               fuse_file_info* info) {
  answer(req, "create", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(auto descriptors, mount.descriptors.take(fuse_req_ctx(req)->uid));
    FRAMEFS_TRY(auto created, mount.filesystem.names().create_file(parent, name, mode, info->flags,
                                                                   caller_of(req)));
    keep_descriptors(*created.opened.file, std::move(descriptors));
    return CreateAnswer{created.entry, {std::move(created.opened), *info}};
  });
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char* name) {
  answer(req, "unlink", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_CHECK(mount.filesystem.names().remove_file(parent, name));
    return Done{};
  });
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char* name) {
  answer(req, "rmdir", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_CHECK(mount.filesystem.names().remove_directory(parent, name));
    return Done{};
  });
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
               const char* new_name, unsigned flags) {
  answer(req, "rename", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_CHECK(mount.filesystem.names().rename(parent, name, new_parent, new_name, flags));
    return Done{};
  });
}

timespec time_of(const timespec& given, bool is_now) {
  return is_now ? timespec{.tv_sec = 0, .tv_nsec = UTIME_NOW} : given;
}

fs::AttributeChange change_of(const struct stat& wanted, int which) {
  const auto asks = [&](int flag) { return (which & flag) != 0; };
  fs::AttributeChange change;
  if (asks(FUSE_SET_ATTR_UID)) change.user = wanted.st_uid;
  if (asks(FUSE_SET_ATTR_GID)) change.group = wanted.st_gid;
  if (asks(FUSE_SET_ATTR_MODE)) change.mode = wanted.st_mode & 07777;
  if (asks(FUSE_SET_ATTR_SIZE)) change.size = static_cast<std::uint64_t>(wanted.st_size);
  if (asks(FUSE_SET_ATTR_ATIME)) {
    change.accessed = time_of(wanted.st_atim, asks(FUSE_SET_ATTR_ATIME_NOW));
  }
  if (asks(FUSE_SET_ATTR_MTIME)) {
    change.modified = time_of(wanted.st_mtim, asks(FUSE_SET_ATTR_MTIME_NOW));
  }
  return change;
}

void op_setattr(fuse_req_t req, fuse_ino_t node, struct stat* wanted, int which,
                fuse_file_info* info) {
  answer(req, "setattr", [&](Mount& mount) -> Result<Answer> {
    std::shared_ptr<fs::OpenFile> file;
    if (info != nullptr) {
      FRAMEFS_TRY(file, find_handle(mount.files, info->fh));
    }
    auto change = change_of(*wanted, which);
    change.clears_bits_of = caller_without_setid_bits(req, mount);
    FRAMEFS_TRY(const auto changed, mount.filesystem.attributes().set(node, change, file.get()));
    // With writeback, the kernel takes no time from an answer.
    return AttrAnswer{changed.stat, !changed.is_open || mount.writeback};
  });
}

void op_fsyncdir(fuse_req_t req, fuse_ino_t node, int, fuse_file_info*) {
  answer(req, "fsyncdir", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_CHECK(mount.filesystem.attributes().sync_directory(node));
    return Done{};
  });
}

}  // namespace

void add_name_operations(fuse_lowlevel_ops& table) {
  table.mkdir = op_mkdir;
  table.mknod = op_mknod;
  table.symlink = op_symlink;
  table.link = op_link;
  table.create = op_create;
  table.unlink = op_unlink;
  table.rmdir = op_rmdir;
  table.rename = op_rename;
  table.setattr = op_setattr;
  table.fsyncdir = op_fsyncdir;
}

}  // namespace framefs::fuse

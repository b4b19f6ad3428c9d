#include <fcntl.h>

#include "fs/fuse/answer.h"
#include "fs/fuse/operations.h"

namespace framefs::fuse {
namespace {

void op_open(fuse_req_t req, fuse_ino_t node, fuse_file_info* info) {
  answer(req, "open", [&](Mount& mount) -> Result<Answer> {
    if ((info->flags & O_ACCMODE) != O_RDONLY) return fs::system_error_of(EROFS, "open");
    FRAMEFS_TRY(auto opened, mount.filesystem.open_file(node));
    return OpenAnswer{std::move(opened), *info};
  });
}

void op_read(fuse_req_t req, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  answer(req, "read", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    const auto from = static_cast<std::uint64_t>(offset);
    if (!file->node->key.is_frame) return FileAnswer{file->source, from, size};
    FRAMEFS_TRY(auto bytes, mount.filesystem.read_frame(*file, from, size));
    return BytesAnswer{std::move(bytes)};
  });
}

void op_release(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  answer(req, "release", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    mount.files.remove(info->fh);
    mount.filesystem.close_file(*file);
    return Done{};
  });
}

}  // namespace

void add_file_operations(fuse_lowlevel_ops& table) {
  table.open = op_open;
  table.read = op_read;
  table.release = op_release;
}

}  // namespace framefs::fuse

#include <span>

#include "fs/fuse/answer.h"
#include "fs/fuse/operations.h"

namespace framefs::fuse {
namespace {

void op_write(fuse_req_t req, fuse_ino_t, const char* bytes, std::size_t size, off_t offset,
              fuse_file_info* info) {
  answer(req, "write", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    FRAMEFS_CHECK(mount.filesystem.write(*file, static_cast<std::uint64_t>(offset),
                                         std::as_bytes(std::span(bytes, size))));
    return WrittenAnswer{size};
  });
}

void op_fallocate(fuse_req_t req, fuse_ino_t, int mode, off_t offset, off_t size,
                  fuse_file_info* info) {
  answer(req, "fallocate", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    FRAMEFS_CHECK(mount.filesystem.allocate(*file, mode, static_cast<std::uint64_t>(offset),
                                            static_cast<std::uint64_t>(size)));
    return Done{};
  });
}

void op_flush(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  answer(req, "flush", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    FRAMEFS_CHECK(mount.filesystem.flush(*file));
    return Done{};
  });
}

void op_fsync(fuse_req_t req, fuse_ino_t, int only_data, fuse_file_info* info) {
  answer(req, "fsync", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    FRAMEFS_CHECK(mount.filesystem.sync_file(*file, only_data != 0));
    return Done{};
  });
}

}  // namespace

void add_write_operations(fuse_lowlevel_ops& table) {
  table.write = op_write;
  table.fallocate = op_fallocate;
  table.flush = op_flush;
  table.fsync = op_fsync;
}

}  // namespace framefs::fuse

#include <fcntl.h>

#include <span>

#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/operations.h"
#include "fs/fuse/ops/setid_bits.h"

namespace framefs::fuse {
namespace {

using codec::Status;

// Whether the bytes are appended to the file, whatever offset the kernel passes. Pages that the
// kernel writes back have a fixed offset; with writeback, all bytes arrive as such pages.
bool is_append(const Mount& mount, const fuse_file_info& info) {
  return (info.flags & O_APPEND) != 0 && info.writepage == 0 && !mount.writeback;
}

// The kernel may trust the old mode for a while.  Without an offset, it drops only the attributes,
// and so it waits for no page.
Status clear_setid_bits(fuse_req_t req, const Mount& mount, fuse_ino_t node,
                        const fs::OpenFile& file) {
  const auto caller = caller_without_setid_bits(req, mount);
  if (!caller) return {};
  FRAMEFS_TRY(const bool had_bits, mount.attributes().clear_setid_bits(file, *caller));
  if (had_bits) fuse_lowlevel_notify_inval_inode(mount.session, node, -1, 0);
  return {};
}

Result<Answer> write(fuse_req_t req, Mount& mount, fuse_ino_t node, std::uint64_t at,
                     std::span<const std::byte> content, const fuse_file_info& info) {
  FRAMEFS_TRY(const auto file, find_handle(mount.files, info.fh));
  FRAMEFS_CHECK(clear_setid_bits(req, mount, node, *file));
  if (!is_append(mount, info)) {
    FRAMEFS_CHECK(mount.filesystem.changes().write(*file, at, content));
    return WrittenAnswer{content.size()};
  }
  FRAMEFS_TRY(const bool is_there, mount.filesystem.changes().append(*file, at, content));
  if (is_there) return WrittenAnswer{content.size()};
  return WrittenAnswer{content.size(), WrittenAnswer::Misplaced{node, at}};
}

void op_write(fuse_req_t req, fuse_ino_t node, const char* bytes, std::size_t size, off_t offset,
              fuse_file_info* info) {
  auto& stale_pages = static_cast<Mount*>(fuse_req_userdata(req))->stale_pages;
  const auto at = static_cast<std::uint64_t>(offset);
  bool is_refused = true;
  answer(req, "write", [&](Mount& mount) {
    auto written = write(req, mount, node, at, std::as_bytes(std::span(bytes, size)), *info);
    is_refused = !written && !fs::has_refused_to_wait();
    return written;
  });
  // The kernel keeps pages that it could not write back, as clean ones.  Readers would see bytes
  // that the file does not have.
  if (is_refused && info->writepage != 0) stale_pages.note(node, {.begin = at, .end = at + size});
}

void op_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t offset, off_t size,
                  fuse_file_info* info) {
  answer(req, "fallocate", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    FRAMEFS_CHECK(clear_setid_bits(req, mount, node, *file));
    FRAMEFS_CHECK(mount.filesystem.changes().allocate(
        *file, mode, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(size)));
    return Done{};
  });
}

void op_flush(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  answer(req, "flush", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    FRAMEFS_CHECK(mount.filesystem.changes().flush(*file));
    return Done{};
  });
}

void op_fsync(fuse_req_t req, fuse_ino_t, int only_data, fuse_file_info* info) {
  answer(req, "fsync", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    FRAMEFS_CHECK(mount.filesystem.changes().sync(*file, only_data != 0));
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

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/operations.h"

namespace framefs::fuse {
namespace {

void op_open(fuse_req_t req, fuse_ino_t node, fuse_file_info* info) {
  answer(req, "open", [&](Mount& mount) -> Result<Answer> {
    // The kernel opens this file and all others by itself.
    if (mount.by_node.has_files) return fs::system_error_of(ENOSYS, "open");
    FRAMEFS_TRY(auto descriptors, mount.descriptors.take(fuse_req_ctx(req)->uid));
    FRAMEFS_TRY(auto opened, mount.filesystem.contents().open(node, info->flags));
    keep_descriptors(*opened.file, std::move(descriptors));
    return OpenAnswer{std::move(opened), *info};
  });
}

Result<Answer> read(Mount& mount, fuse_ino_t node, std::size_t size, std::uint64_t from,
                    const fuse_file_info& info) {
  FRAMEFS_TRY(const auto file, file_of(mount, node, info));
  auto& contents = mount.filesystem.contents();
  if (!file->node->key.has_view()) {
    FRAMEFS_CHECK(contents.check_plain(*file));
    file->pattern->note(from, size);
    return FileAnswer{file->source.file(), from, size};
  }
  allow_read(size);
  FRAMEFS_TRY(auto bytes, contents.read(*file, from, size));
  if (info.fh == 0) mount.readahead.choose(file->pattern->habit());
  // A reader with O_DIRECT reads past the page cache.
  const bool is_pushed = bytes.hot && (info.flags & O_DIRECT) == 0;
  return BytesAnswer{std::move(bytes), is_pushed ? file : nullptr};
}

void op_read(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset,
             fuse_file_info* info) {
  answer(req, "read", [&](Mount& mount) {
    return noting_change(mount, node,
                         read(mount, node, size, static_cast<std::uint64_t>(offset), *info));
  });
}

// The part of the file that `found`, the answer of FileContents::seek(), takes for a hole.
std::optional<StalePages::Range> claimed_hole(const Mount& mount, const fs::OpenFile& file,
                                              fs::Seek what, std::uint64_t from,
                                              const Result<std::uint64_t>& found) {
  constexpr auto kEnd = StalePages::Range::kEndOfFile;
  if (what == fs::Seek::data) {
    if (found ? *found == from : found.error().sys != ENXIO) return std::nullopt;
    return StalePages::Range{.begin = from, .end = found.value_or(kEnd)};
  }
  if (!found) return std::nullopt;
  const auto next = mount.filesystem.contents().seek(file, fs::Seek::data, *found);
  return StalePages::Range{.begin = *found, .end = next.value_or(kEnd)};
}

// Bytes that a program has changed through a shared mapping are known to the kernel alone, which
// does not write them back before it asks for holes.
Result<std::uint64_t> seek(Mount& mount, fuse_ino_t node, const fs::OpenFile& file, fs::Seek what,
                           std::uint64_t from) {
  std::optional<StalePages::Range> written;
  while (true) {
    auto found = mount.filesystem.contents().seek(file, what, from);
    if (!fs::FileContents::may_be_mapped(*file.node)) return found;
    const auto hole = claimed_hole(mount, file, what, from, found);
    if (!hole || (written && written->contains(*hole))) return found;
    if (!fs::may_wait()) return std::unexpected(fs::would_wait().error());
    // If the hole was none, the next answer may name another one.
    mount.stale_pages.write_back(node, *hole);
    written = hole;
  }
}

void op_lseek(fuse_req_t req, fuse_ino_t node, off_t offset, int whence, fuse_file_info* info) {
  answer(req, "lseek", [&](Mount& mount) -> Result<Answer> {
    // With writeback, dirty pages are invisible to the daemon; ENOSYS makes the kernel treat
    // everything as data.
    if (mount.writeback) return fs::system_error_of(ENOSYS, "lseek");
    FRAMEFS_TRY(const auto what, seek_kind(offset, whence));
    FRAMEFS_TRY(const auto file, noting_change(mount, node, file_of(mount, node, *info)));
    const auto from = static_cast<std::uint64_t>(offset);
    FRAMEFS_TRY(const auto found, noting_change(mount, node, seek(mount, node, *file, what, from)));
    return OffsetAnswer{static_cast<off_t>(found)};
  });
}

void op_release(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  answer(req, "release", [&](Mount& mount) -> Result<Answer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    if (!file->node->key.has_view()) mount.passthrough.close(req, *file);
    mount.files.remove(info->fh);
    mount.filesystem.contents().close(*file);
    return Done{};
  });
}

}  // namespace

void add_file_operations(fuse_lowlevel_ops& table) {
  table.open = op_open;
  table.read = op_read;
  table.lseek = op_lseek;
  table.release = op_release;
}

}  // namespace framefs::fuse

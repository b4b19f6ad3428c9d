#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "fs/core/threads/interrupt.h"
#include "fs/fuse/ops/operations.h"
#include "fs/fuse/session/remote_mount.h"
#include "fs/fuse/session/sender.h"

namespace framefs::fuse {
namespace {

struct RemoteSender : CommonSender<RemoteMount> {
  using CommonSender<RemoteMount>::operator();

  void operator()(RemoteOpenAnswer& answer) const {
    auto& [opened, node, info] = answer;
    // A negative offset invalidates the attributes and no pages.
    if (opened.is_newer) fuse_lowlevel_notify_inval_inode(mount.session, node, -1, 0);
    const auto file = std::move(opened.file);
    info.fh = mount.files.add(file);
    info.keep_cache = opened.keep_pages;
    info.direct_io = opened.bypass_pages;
    info.noflush = 1;
    if (fuse_reply_open(req, &info) != -ENOENT) return;
    mount.files.remove(info.fh);
    mount.tree().close(*file);
  }
};

void op_getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
  answer_for<RemoteMount>(req, "getattr", [&](RemoteMount& mount) -> Result<RemoteAnswer> {
    FRAMEFS_TRY(auto st, mount.tree().stat_node(node));
    show_error(mount, node, st);
    return AttrAnswer{st};
  });
}

void op_statfs(fuse_req_t req, fuse_ino_t) {
  answer_for<RemoteMount>(req, "statfs", [&](RemoteMount&) -> Result<RemoteAnswer> {
    // A server reports no free space.
    struct statvfs st{};
    st.f_bsize = st.f_frsize = 4096;
    st.f_namemax = 255;
    return StatfsAnswer{st};
  });
}

void op_open(fuse_req_t req, fuse_ino_t node, fuse_file_info* info) {
  answer_for<RemoteMount>(req, "open", [&](RemoteMount& mount) -> Result<RemoteAnswer> {
    // The kernel opens this file and all others by itself.
    if (mount.by_node.has_files) return fs::system_error_of(ENOSYS, "open");
    FRAMEFS_TRY(auto opened, mount.tree().open_file(node, info->flags));
    return RemoteOpenAnswer{std::move(opened), node, *info};
  });
}

Result<RemoteAnswer> read(RemoteMount& mount, fuse_ino_t node, std::size_t size, std::uint64_t from,
                          const fuse_file_info& info) {
  FRAMEFS_TRY(const auto file, file_of(mount, node, info));
  allow_read(size);
  FRAMEFS_TRY(auto bytes, mount.tree().read(*file, from, size));
  return BytesAnswer{std::move(bytes)};
}

void op_read(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset,
             fuse_file_info* info) {
  answer_for<RemoteMount>(req, "read", [&](RemoteMount& mount) {
    return noting_change(mount, node,
                         read(mount, node, size, static_cast<std::uint64_t>(offset), *info));
  });
}

void op_lseek(fuse_req_t req, fuse_ino_t node, off_t offset, int whence, fuse_file_info* info) {
  answer_for<RemoteMount>(req, "lseek", [&](RemoteMount& mount) -> Result<RemoteAnswer> {
    FRAMEFS_TRY(const auto what, seek_kind(offset, whence));
    FRAMEFS_TRY(const auto file, noting_change(mount, node, file_of(mount, node, *info)));
    FRAMEFS_TRY(const auto found, file->view->seek(what, static_cast<std::uint64_t>(offset)));
    return OffsetAnswer{static_cast<off_t>(found)};
  });
}

void op_release(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  answer_for<RemoteMount>(req, "release", [&](RemoteMount& mount) -> Result<RemoteAnswer> {
    FRAMEFS_TRY(const auto file, find_handle(mount.files, info->fh));
    mount.files.remove(info->fh);
    mount.tree().close(*file);
    return Done{};
  });
}

}  // namespace

void send(fuse_req_t req, RemoteMount& mount, RemoteAnswer answer) {
  std::visit(RemoteSender{{req, mount}}, answer);
}

void add_remote_file_operations(fuse_lowlevel_ops& table) {
  table.getattr = op_getattr;
  table.statfs = op_statfs;
  table.open = op_open;
  table.read = op_read;
  table.lseek = op_lseek;
  table.release = op_release;
}

}  // namespace framefs::fuse

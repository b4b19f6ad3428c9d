#include "fs/fuse/answer.h"

#include <sys/uio.h>

#include <algorithm>

namespace framefs::fuse {
namespace {

// writev() accepts at most IOV_MAX (1024) pieces; libfuse adds one piece for its header.
constexpr std::size_t kMaxPieces = 1000;

fuse_entry_param entry_param(const fs::NodeEntry& entry, const Mount& mount) {
  fuse_entry_param param{};
  param.ino = entry.id;
  param.attr = shown(mount, entry.stat);
  param.attr_timeout = mount.attr_timeout_s;
  param.entry_timeout = mount.attr_timeout_s;
  return param;
}

// One overload for each kind of answer.
struct Sender {
  fuse_req_t req;
  Mount& mount;

  void operator()(Done&) const { fuse_reply_err(req, 0); }

  void operator()(EntryAnswer& answer) const {
    const auto param = entry_param(answer.entry, mount);
    // ENOENT: the caller was interrupted, so the kernel did not take the reference.
    if (fuse_reply_entry(req, &param) == -ENOENT)
      mount.filesystem.tree().forget(answer.entry.id, 1);
  }

  void operator()(AttrAnswer& answer) const {
    const auto attributes = shown(mount, answer.stat);
    fuse_reply_attr(req, &attributes, mount.attr_timeout_s);
  }

  void operator()(LinkAnswer& answer) const { fuse_reply_readlink(req, answer.target.c_str()); }

  void operator()(StatfsAnswer& answer) const { fuse_reply_statfs(req, &answer.stat); }

  // Registers the handle, then calls `reply` to send it.
  template <class Reply>
  void reply_open(OpenAnswer& answer, const Reply& reply) const {
    const std::shared_ptr<fs::OpenFile> file = std::move(answer.opened.file);
    answer.info.fh = mount.files.add(file);
    answer.info.keep_cache = answer.opened.keep_pages;
    // Without a write session, close() has nothing to report.
    answer.info.noflush = file->session.get() == nullptr;
    answer.info.direct_io = answer.opened.bypass_pages;
    const bool is_plain = !file->node->key.has_view();
    if (is_plain) mount.passthrough.open(req, *file, answer.info);
    if (reply(&answer.info) != -ENOENT) return;
    if (is_plain) mount.passthrough.close(req, *file);
    mount.files.remove(answer.info.fh);
    mount.filesystem.contents().close(*file);
  }

  void operator()(OpenAnswer& answer) const {
    reply_open(answer, [&](const fuse_file_info* info) { return fuse_reply_open(req, info); });
  }

  void operator()(CreateAnswer& answer) const {
    const auto param = entry_param(answer.entry, mount);
    reply_open(answer.open, [&](const fuse_file_info* info) {
      const int sent = fuse_reply_create(req, &param, info);
      if (sent == -ENOENT) mount.filesystem.tree().forget(answer.entry.id, 1);
      return sent;
    });
  }

  void operator()(OpendirAnswer& answer) const {
    answer.info.fh = mount.directories.add(std::move(answer.handle));
    if (fuse_reply_open(req, &answer.info) == -ENOENT) mount.directories.remove(answer.info.fh);
  }

  void operator()(BytesAnswer& answer) const {
    const auto& spans = answer.bytes.spans;
    std::vector<std::byte> joined;
    std::vector<iovec> pieces;
    // iovec has no const pointer; writev() only reads through it.
    const auto piece = [](std::span<const std::byte> span) {
      return iovec{.iov_base = const_cast<std::byte*>(span.data()), .iov_len = span.size()};
    };
    if (spans.size() <= kMaxPieces) {
      std::ranges::transform(spans, std::back_inserter(pieces), piece);
    } else {
      for (const auto span : spans) joined.insert(joined.end(), span.begin(), span.end());
      pieces.push_back(piece(joined));
    }
    std::uint64_t size = 0;
    for (const auto& span : spans) size += span.size();
    mount.counters.note_read(size);
    fuse_reply_iov(req, pieces.data(), static_cast<int>(pieces.size()));
  }

  void operator()(FileAnswer& answer) const {
    mount.counters.note_read(answer.size);
    fuse_bufvec source{};
    source.count = 1;
    source.buf[0].size = answer.size;
    source.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
    source.buf[0].fd = answer.source->fd();
    source.buf[0].pos = static_cast<off_t>(answer.offset);
    fuse_reply_data(req, &source, FUSE_BUF_SPLICE_MOVE);
  }

  void operator()(WrittenAnswer& answer) const {
    mount.counters.note_written(answer.size);
    fuse_reply_write(req, answer.size);
    if (const auto& wrong = answer.misplaced) mount.stale_pages.note(wrong->node, wrong->offset);
  }

  void operator()(BufferAnswer& answer) const {
    fuse_reply_buf(req, answer.bytes.data(), answer.bytes.size());
  }

  void operator()(OffsetAnswer& answer) const { fuse_reply_lseek(req, answer.offset); }

  void operator()(SizeAnswer& answer) const { fuse_reply_xattr(req, answer.size); }
};

}  // namespace

struct stat shown(const Mount& mount, struct stat attributes) noexcept {
  const auto& options = mount.options;
  attributes.st_uid = options.uid.value_or(attributes.st_uid);
  attributes.st_gid = options.gid.value_or(attributes.st_gid);
  if (!S_ISLNK(attributes.st_mode)) attributes.st_mode &= ~static_cast<mode_t>(options.mode_mask);
  return attributes;
}

void send(fuse_req_t req, Mount& mount, Answer answer) { std::visit(Sender{req, mount}, answer); }

}  // namespace framefs::fuse

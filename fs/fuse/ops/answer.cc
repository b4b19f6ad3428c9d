#include "fs/fuse/ops/answer.h"

#include "fs/fuse/session/sender.h"

namespace framefs::fuse {
namespace {

// One overload for each kind of answer.
struct Sender : CommonSender<Mount> {
  using CommonSender<Mount>::operator();

  void operator()(BytesAnswer& answer) const {
    CommonSender<Mount>::operator()(answer);
    if (!answer.pushed_file || !answer.bytes.hot) return;
    mount.filesystem.pages().offer(std::move(answer.pushed_file), std::move(*answer.bytes.hot));
  }

  void operator()(LinkAnswer& answer) const { fuse_reply_readlink(req, answer.target.c_str()); }

  // Registers the handle, then calls `reply` to send it.
  template <class Reply>
  void reply_open(OpenAnswer& answer, const Reply& reply) const {
    const std::shared_ptr<fs::OpenFile> file = std::move(answer.opened.file);
    answer.info.fh = mount.files.add(file);
    answer.info.keep_cache = answer.opened.keep_pages;
    // Without a write session, close() has nothing to report.
    answer.info.noflush = file->session.get() == nullptr;
    answer.info.direct_io = answer.opened.bypass_pages;
    mount.readahead.choose(answer.opened.habit);
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
    if (const auto& wrong = answer.misplaced)
      mount.stale_pages.note(wrong->node, {.begin = wrong->offset});
  }
};

}  // namespace

void send(fuse_req_t req, Mount& mount, Answer answer) { std::visit(Sender{{req, mount}}, answer); }

}  // namespace framefs::fuse

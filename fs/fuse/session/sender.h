#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <fuse_lowlevel.h>

#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/entry_param.h"

namespace framefs::fuse {

// Sends the kinds of answer that mounts of a local and of a remote SOURCE have in common: one
// overload for each kind.
template <class MountType>
struct CommonSender {
  fuse_req_t req;
  MountType& mount;

  void operator()(Done&) const { fuse_reply_err(req, 0); }

  void operator()(EntryAnswer& answer) const {
    const auto param = entry_param(answer.entry, mount);
    // ENOENT: the caller was interrupted, so the kernel did not take the reference.
    if (fuse_reply_entry(req, &param) == -ENOENT) mount.tree().forget(answer.entry.id, 1);
  }

  // The kernel takes the time of modification in the answer to a change of attributes without a
  // look at its pages, which may lack a change by another program.  A time that the file does not
  // have, and that counts for no moment, vouches for nothing: the kernel asks before the next
  // stat(2) or read(2), and drops its pages because the time is another one.
  // Source: fuse_do_setattr() and fuse_change_attributes() of Linux.
  void operator()(AttrAnswer& answer) const {
    auto attributes = shown(mount, answer.stat);
    if (!answer.vouches_for_pages) attributes.st_mtim.tv_nsec ^= 1;
    fuse_reply_attr(req, &attributes, answer.vouches_for_pages ? mount.attr_timeout_s : 0);
  }

  void operator()(StatfsAnswer& answer) const { fuse_reply_statfs(req, &answer.stat); }

  void operator()(OpendirAnswer& answer) const {
    answer.info.fh = mount.directories.add(std::move(answer.handle));
    if (fuse_reply_open(req, &answer.info) == -ENOENT) mount.directories.remove(answer.info.fh);
  }

  void operator()(BytesAnswer& answer) const {
    // writev() accepts at most IOV_MAX (1024) pieces; libfuse adds one piece for its header.
    constexpr std::size_t kMaxPieces = 1000;
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

  void operator()(BufferAnswer& answer) const {
    fuse_reply_buf(req, answer.bytes.data(), answer.bytes.size());
  }

  void operator()(OffsetAnswer& answer) const { fuse_reply_lseek(req, answer.offset); }

  void operator()(SizeAnswer& answer) const { fuse_reply_xattr(req, answer.size); }
};

}  // namespace framefs::fuse

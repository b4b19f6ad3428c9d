#include "fs/write/frame_write_session.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "codec/core/limits.h"
#include "fs/core/threads/may_wait.h"
#include "fs/write/source_space.h"

namespace framefs::fs {
std::shared_ptr<FrameWriteSession> FrameWriteSession::make(Opening opening,
                                                           const WriteServices& services) {
  return std::shared_ptr<FrameWriteSession>(new FrameWriteSession(std::move(opening), services));
}

FrameWriteSession::FrameWriteSession(Opening opening, const WriteServices& services)
    : services_(services),
      backend_(std::move(opening.backend)),
      overlay_(std::in_place, services.overlay, std::move(opening.index), opening.chunksize,
               opening.frame.nbytes(), std::move(opening.entries), opening.content_id),
      overlay_frame_(overlay_.read([&](const ChunkOverlay& overlay) {
        return std::make_shared<const OverlayFrame>(std::move(opening.origin),
                                                    std::move(opening.frame), services.reads,
                                                    overlay, backend_->checksums());
      })),
      state_(*backend_, overlay_, services.content_ids, std::move(opening.ownership)),
      commits_(state_,
               {*backend_, overlay_, *overlay_frame_, services.chunk_writer, services.content_ids,
                services.commits},
               {opening.params, std::move(opening.choose_params)}),
      vlmeta_(*backend_, overlay_, services.clock, services.reads.limits) {
  overlay_.write([&](ChunkOverlay& overlay) {
    overlay.vlmetalayers = std::move(opening.vlmetalayers);
    if (backend_->checksums()->are_kept()) overlay.max_chunks = codec::kMaxChecksums;
    overlay.mtime = opening.stat.st_mtim;
    overlay.ctime = opening.ctime.value_or(opening.stat.st_ctim);
  });
}

Result<FrameWriteSession::Change> FrameWriteSession::begin_change(
    std::chrono::milliseconds patience, std::unique_ptr<FrameOwnership>* successor) {
  auto begun = state_.ownership().begin_change(patience, successor);
  if (begun) {
    if (auto named = check_named(); !named) begun = std::unexpected(named.error());
  }
  const bool is_over = begun.has_value() || is_lost() || has_refused_to_wait();
  if (!is_over && begun.error().sys != EINTR) services_.reads.log.failure(name(), begun.error());
  return begun;
}

FrameWriteSession::Shown FrameWriteSession::shown() const {
  return overlay_.read([](const ChunkOverlay& overlay) {
    return Shown{.nbytes = overlay.nbytes(), .mtime = overlay.mtime, .ctime = overlay.ctime};
  });
}

Status FrameWriteSession::set_mtime(const timespec& time, const std::function<Status()>& set) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Status {
    FRAMEFS_CHECK(set());
    overlay.ctime = services_.clock.now();
    overlay.mtime = time.tv_nsec == UTIME_NOW ? overlay.ctime : time;
    backend_->note_times();
    return {};
  });
}

// Two commits have different times, because the kernel of another mount tells states by the time.
void FrameWriteSession::touch(ChunkOverlay& overlay) const {
  const auto& clock = services_.clock;
  overlay.touch(overlay.is_committed() ? clock.now_after(overlay.mtime) : clock.now());
}

Result<FrameWriteSession::Written> FrameWriteSession::write_to(ChunkOverlay& overlay,
                                                               std::span<const Piece> pieces) {
  FRAMEFS_CHECK(backend_->check_usable());
  std::vector<codec::ByteRange> ranges;
  ranges.reserve(pieces.size());
  for (const auto& [offset, bytes] : pieces) {
    FRAMEFS_CHECK(overlay.prepare_size(offset, bytes.size()));
    ranges.push_back({offset, bytes.size()});
  }
  const auto needed = overlay.growth(ranges);
  const auto room = overlay.reserve(needed);
  if (!room) return Written{.missing_room = needed};
  for (const auto& [offset, bytes] : pieces) overlay.write(offset, bytes);
  touch(overlay);
  return Written{.has_full = overlay.has_full_chunks()};
}

Result<FrameWriteSession::Written> FrameWriteSession::write(std::span<const Piece> pieces) {
  return overlay_.write([&](ChunkOverlay& overlay) { return write_to(overlay, pieces); });
}

Result<FrameWriteSession::Written> FrameWriteSession::append(std::span<const std::byte> bytes) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Result<Written> {
    const Piece piece{overlay.nbytes(), bytes};
    FRAMEFS_TRY(auto written, write_to(overlay, std::span(&piece, 1)));
    written.offset = piece.offset;
    return written;
  });
}

Result<FrameWriteSession::Written> FrameWriteSession::append_zeros(std::uint64_t size) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Result<Written> {
    FRAMEFS_CHECK(backend_->check_usable());
    const auto end = overlay.nbytes();
    FRAMEFS_CHECK(overlay.prepare_size(end, size));
    overlay.extend(end + size);
    touch(overlay);
    return Written{.offset = end};
  });
}

Status FrameWriteSession::extend(std::uint64_t nbytes) {
  FRAMEFS_TRY(const bool is_longer, overlay_.write([&](ChunkOverlay& overlay) -> Result<bool> {
    FRAMEFS_CHECK(backend_->check_usable());
    FRAMEFS_CHECK(overlay.prepare_size(nbytes, 0));
    const bool grows = nbytes > overlay.nbytes();
    overlay.extend(nbytes);
    touch(overlay);
    return grows;
  }));
  if (is_longer) return {};
  commits_.keep_mtime();
  return {};
}

Status FrameWriteSession::change_stored(
    const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change) {
  // Dropping a chunk takes little time, and dropping millions of them takes seconds.
  constexpr std::uint64_t kMaxPrompt = 1u << 16;
  const auto count =
      overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunk_count(); });
  if (!may_wait() && count > kMaxPrompt) return would_wait();
  return commits_.change_stored([&](ChunkOverlay& overlay) {
    auto dropped = change(overlay);
    touch(overlay);
    return dropped;
  });
}

Status FrameWriteSession::truncate(std::uint64_t nbytes) {
  FRAMEFS_CHECK(
      overlay_.write([&](ChunkOverlay& overlay) { return overlay.prepare_size(nbytes, 0); }));
  if (nbytes == 0) {
    FRAMEFS_TRY(const bool needs_chunks, vlmeta_.need_chunks());
    if (needs_chunks && !may_wait()) return would_wait();
    if (needs_chunks) FRAMEFS_CHECK(commit(false));
  }
  return change_stored([&](ChunkOverlay& overlay) { return overlay.truncate(nbytes); });
}

Result<FrameWriteSession::Written> FrameWriteSession::zero(std::uint64_t offset,
                                                           std::uint64_t size) {
  Written written;
  FRAMEFS_CHECK(change_stored([&](ChunkOverlay& overlay) -> std::vector<std::int64_t> {
    const auto end = overlay.nbytes();
    if (offset >= end) return {};
    const auto within = std::min(size, end - offset);
    const auto needed = overlay.growth_of_zeros({offset, within});
    const auto room = overlay.reserve(needed);
    if (!room) {
      written.missing_room = needed;
      return {};
    }
    return overlay.zero(offset, within);
  }));
  return written;
}

Status FrameWriteSession::flush() {
  return commits_.flush(
      overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunk_count(); }));
}

Status FrameWriteSession::flush_at_close() {
  FRAMEFS_CHECK(check());
  return may_lack_space(sync_fd(), services_.overlay.used()) ? flush() : Status();
}

Status FrameWriteSession::commit(bool durably) {
  if (unstored_bytes() > FrameCommitter::kFlushedBytes) {
    // The commit tries again what fails here.
    static_cast<void>(flush());
  }
  return commits_.commit(durably);
}

Status FrameWriteSession::check_space() {
  if (!state_.is_out_of_space()) return {};
  return may_wait() ? commit(false) : would_wait();
}

Status FrameWriteSession::compact(bool always, const std::function<bool()>& is_ending) {
  const auto change = always
                          ? begin_change()
                          : state_.ownership().begin_change(std::chrono::milliseconds(0), nullptr);
  if (!change) {
    // The other program compacts the frame if that is needed.
    const bool is_others = change.error().sys == EBUSY || is_superseded();
    return is_others && !always ? Status{} : std::unexpected(change.error());
  }
  return commits_.compact(always, [&] { return is_changed() || (is_ending && is_ending()); });
}

}  // namespace framefs::fs

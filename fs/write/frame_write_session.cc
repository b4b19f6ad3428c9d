#include "fs/write/frame_write_session.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "codec/core/limits.h"
#include "codec/frame/frame_trailer.h"
#include "fs/core/interrupt.h"
#include "fs/core/may_wait.h"
#include "fs/write/source_space.h"

namespace framefs::fs {
namespace {

// Longer than a tick of the coarse clock.
constexpr std::int64_t kTick = 100'000'000;

}  // namespace

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
               {opening.params, std::move(opening.choose_params)}) {
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

void FrameWriteSession::note_attributes() {
  overlay_.write([&](ChunkOverlay& overlay) { overlay.ctime = services_.clock.now(); });
}

// Two commits have different times, because the kernel of another mount tells states by the time.
void FrameWriteSession::touch(ChunkOverlay& overlay) const {
  auto time = services_.clock.now();
  const auto since = nanoseconds(time) - nanoseconds(overlay.mtime);
  if (overlay.is_committed() && since <= 0 && since > -kTick) {
    time = overlay.mtime;
    const bool is_last = ++time.tv_nsec == 1'000'000'000;
    if (is_last) time = {.tv_sec = time.tv_sec + 1, .tv_nsec = 0};
  }
  overlay.touch(time);
}

// To be called before the frame may grow to hold `size` bytes at `offset`.
Status FrameWriteSession::prepare_size(ChunkOverlay& overlay, std::uint64_t offset,
                                       std::uint64_t size) {
  if (offset > overlay.max_bytes() || size > overlay.max_bytes() - offset) {
    const bool has_less = overlay.max_chunks < ChunkOverlay::kMaxChunks;
    return codec::fail(Errc::over_limit,
                       has_less ? "size of a file with checksums" : "size of the file", offset);
  }
  return overlay.reserve_index(offset + size) ? Status{} : no_room_for_index();
}

Result<FrameWriteSession::Written> FrameWriteSession::write(std::span<const Piece> pieces) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Result<Written> {
    FRAMEFS_CHECK(backend_->check_usable());
    std::vector<codec::ByteRange> ranges;
    ranges.reserve(pieces.size());
    for (const auto& [offset, bytes] : pieces) {
      FRAMEFS_CHECK(prepare_size(overlay, offset, bytes.size()));
      ranges.push_back({offset, bytes.size()});
    }
    const auto needed = overlay.growth(ranges);
    const auto room = overlay.reserve(needed);
    if (!room) return Written{.missing_room = needed};
    for (const auto& [offset, bytes] : pieces) overlay.write(offset, bytes);
    touch(overlay);
    return Written{.has_full = overlay.has_full_chunks()};
  });
}

Result<FrameWriteSession::Written> FrameWriteSession::append(std::span<const std::byte> bytes) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Result<Written> {
    FRAMEFS_CHECK(backend_->check_usable());
    const auto end = overlay.nbytes();
    FRAMEFS_CHECK(prepare_size(overlay, end, bytes.size()));
    const std::array<codec::ByteRange, 1> range{{{end, bytes.size()}}};
    const auto needed = overlay.growth(range);
    const auto room = overlay.reserve(needed);
    if (!room) return Written{.missing_room = needed};
    overlay.write(end, bytes);
    touch(overlay);
    return Written{.has_full = overlay.has_full_chunks(), .offset = end};
  });
}

Result<FrameWriteSession::Written> FrameWriteSession::append_zeros(std::uint64_t size) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Result<Written> {
    FRAMEFS_CHECK(backend_->check_usable());
    const auto end = overlay.nbytes();
    FRAMEFS_CHECK(prepare_size(overlay, end, size));
    overlay.extend(end + size);
    touch(overlay);
    return Written{.offset = end};
  });
}

std::uint64_t FrameWriteSession::used_bytes() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return overlay.used_bytes(); });
}

std::uint64_t FrameWriteSession::unstored_bytes() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return overlay.unstored_bytes(); });
}

bool FrameWriteSession::has_room(std::uint64_t bytes) {
  return overlay_.write([&](ChunkOverlay& overlay) { return overlay.reserve(bytes).has_value(); });
}

Status FrameWriteSession::extend(std::uint64_t nbytes) {
  FRAMEFS_TRY(const bool is_longer, overlay_.write([&](ChunkOverlay& overlay) -> Result<bool> {
    FRAMEFS_CHECK(backend_->check_usable());
    FRAMEFS_CHECK(prepare_size(overlay, nbytes, 0));
    const bool grows = nbytes > overlay.nbytes();
    overlay.extend(nbytes);
    touch(overlay);
    return grows;
  }));
  if (is_longer) return {};
  commits_.take_beside_begun()->keep_mtime();
  return {};
}

// For a change that drops stored chunks: no commit that has these chunks is then under way.
Status FrameWriteSession::change_stored(
    const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change) {
  // Dropping a chunk takes little time, and dropping millions of them takes seconds.
  constexpr std::uint64_t kMaxPrompt = 1u << 16;
  const auto count =
      overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunk_count(); });
  if (!may_wait() && count > kMaxPrompt) return would_wait();
  const auto commits = commits_.take_promptly();
  if (!commits) return would_wait();
  return commits->change_stored([&](ChunkOverlay& overlay) {
    auto dropped = change(overlay);
    touch(overlay);
    return dropped;
  });
}

// Whether the vl-metalayers are too large for a frame that already has no chunks.
Result<bool> FrameWriteSession::are_large(std::span<const codec::NamedContent> vlmetalayers) const {
  FRAMEFS_TRY(const auto trailer, backend_->encode_trailer({0, {}, vlmetalayers}));
  return trailer.size() > backend_->max_empty_trailer();
}

Status FrameWriteSession::truncate(std::uint64_t nbytes) {
  FRAMEFS_CHECK(
      overlay_.write([&](ChunkOverlay& overlay) { return prepare_size(overlay, nbytes, 0); }));
  if (nbytes == 0) {
    FRAMEFS_TRY(const bool needs_chunks,
                overlay_.read([&](const ChunkOverlay& overlay) -> Result<bool> {
                  FRAMEFS_TRY(const bool is_large, are_large(overlay.vlmetalayers));
                  return is_large && overlay.nbytes() > 0;
                }));
    // The committed state must get these vl-metalayers while it still has chunks.
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

Status FrameWriteSession::set_vlmeta(std::string_view name,
                                     std::optional<std::span<const std::byte>> content,
                                     Existing existing) {
  if (name.empty() || name.size() > codec::kMaxMetalayerName) {
    return system_error_of(ENAMETOOLONG, "setxattr");
  }
  if (name == codec::kChecksumLayer) return system_error_of(EPERM, "setxattr");
  std::optional<std::vector<std::byte>> stored;
  if (content) {
    FRAMEFS_TRY(stored, codec::encode_vlmetalayer(*content));
  }
  return overlay_.write([&](ChunkOverlay& overlay) -> Status {
    FRAMEFS_CHECK(backend_->check_usable());
    const auto most = kMaxVlmetalayers - (backend_->checksums()->are_kept() ? 1 : 0);
    FRAMEFS_TRY(auto layers,
                change_vlmeta(overlay.vlmetalayers, name, std::move(stored), existing, most));
    if (overlay.nbytes() == 0) {
      FRAMEFS_TRY(const bool is_large, are_large(layers));
      if (is_large) return system_error_of(ENOSPC, "setxattr");
    }
    overlay.vlmetalayers = std::move(layers);
    overlay.set_changed(true);
    overlay.ctime = services_.clock.now();
    return {};
  });
}

Status FrameWriteSession::renew_checksums(std::span<const codec::ChunkChecksum> checksums) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Status {
    if (overlay.vlmetalayers.size() >= kMaxVlmetalayers) {
      return codec::fail_value(codec::Errc::over_limit,
                               "number of vl-metalayers beside the checksums", 0,
                               static_cast<std::int64_t>(overlay.vlmetalayers.size()));
    }
    const auto all = overlay.entries();
    backend_->checksums()->keep(all.entries(), checksums);
    overlay.set_changed(true);
    return {};
  });
}

Result<std::optional<std::vector<std::byte>>> FrameWriteSession::vlmeta(
    std::string_view name) const {
  auto stored = overlay_.read([&](const ChunkOverlay& overlay) {
    const auto at = std::ranges::find(overlay.vlmetalayers, name, &codec::NamedContent::name);
    return at == overlay.vlmetalayers.end() ? std::nullopt : std::optional(at->content);
  });
  if (!stored) return std::nullopt;
  const codec::MemorySource source(*stored);
  FRAMEFS_TRY(auto plain,
              codec::Frame::read_vlmetalayer(source, {std::string(name), {0, stored->size()}},
                                             services_.reads.limits));
  return plain;
}

std::vector<std::string> FrameWriteSession::vlmeta_names() const {
  return overlay_.read([](const ChunkOverlay& overlay) {
    std::vector<std::string> names;
    names.reserve(overlay.vlmetalayers.size());
    for (const auto& layer : overlay.vlmetalayers) names.push_back(layer.name);
    return names;
  });
}

// One pass over the chunks that the frame has now.
Status FrameWriteSession::flush() {
  const auto end = overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunk_count(); });
  std::uint64_t next = 0;
  while (next < end) {
    if (next > 0 && interrupted()) return system_error_of(EINTR, "write");
    const auto commits = commits_.take_promptly();
    if (!commits) return would_wait();
    FRAMEFS_TRY(next, commits->flush(next, end));
  }
  return {};
}

Status FrameWriteSession::flush_at_close() {
  FRAMEFS_CHECK(check());
  return may_lack_space(sync_fd(), services_.overlay.used()) ? flush() : Status();
}

Result<bool> FrameWriteSession::flush_full() {
  const auto commits = commits_.take_promptly();
  if (!commits) return std::unexpected(would_wait().error());
  return commits->flush_full();
}

Status FrameWriteSession::make_room(std::uint64_t bytes, const std::function<bool()>& has_room) {
  constexpr auto kEnd = std::numeric_limits<std::uint64_t>::max();
  const auto is_over = [&] { return has_room() || interrupted(); };
  // The stores of another thread make room as well.
  while (!is_over()) {
    const auto commits = commits_.take_unless(is_over);
    if (!commits) break;
    FRAMEFS_TRY(const auto next, commits->flush(0, kEnd, bytes));
    if (next == kEnd) return {};
  }
  return interrupted() ? system_error_of(EINTR, "write") : Status{};
}

Status FrameWriteSession::commit(bool durably) {
  if (unstored_bytes() > FrameCommitter::kFlushedBytes) {
    // The commit tries again what fails here.
    static_cast<void>(flush());
  }
  return commits_.take()->commit(durably);
}

Result<std::optional<FrameWriteSession::Commit>> FrameWriteSession::begin_commit() {
  const auto commits = commits_.take_promptly();
  if (!commits) return std::unexpected(would_wait().error());
  return commits->begin_commit();
}

Status FrameWriteSession::finish_commit(const Commit& commit) {
  return commits_.take_beside_begun()->finish_commit(commit);
}

Status FrameWriteSession::check_space() {
  if (!state_.is_out_of_space()) return {};
  return may_wait() ? commit(false) : would_wait();
}

Result<CompactionNeed> FrameWriteSession::may_want_compaction() {
  const auto commits = commits_.take_promptly();
  if (!commits) return std::unexpected(would_wait().error());
  return commits->may_want_compaction();
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
  const auto is_over = [&] {
    return commits_.is_wanted() || is_changed() || (is_ending && is_ending());
  };
  return commits_.take()->compact(always, is_over);
}

Status FrameWriteSession::remove(const std::function<Status()>& remove) {
  return commits_.take_beside_begun()->remove(remove);
}

bool FrameWriteSession::release_old_states() {
  const auto commits = commits_.take_promptly();
  if (!commits) return would_wait().has_value();
  commits->release_old_states();
  return true;
}

}  // namespace framefs::fs

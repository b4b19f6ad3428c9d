#include "fs/write/frame_write_session.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "codec/core/limits.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/frame_writer.h"
#include "fs/source/chunk_files.h"
#include "fs/write/contiguous_backend.h"
#include "fs/write/sparse_backend.h"
#include "fs/write/write_params.h"

namespace framefs::fs {
namespace {

// For a frame that was written without a chunk size, because its first chunk never came.
constexpr std::uint32_t kDefaultChunksize = 4u << 20;
// The chunks stored at a time without a commit.  A commit waits for no more than these.
constexpr std::uint64_t kFlushedBytes = 8u << 20;
// With more of them, the reference library refuses to write to the frame.  Source: frame format,
// "Trailer".
constexpr std::size_t kMaxVlmetalayers = 16;
// Less dead space is not worth a compaction.
constexpr std::uint64_t kMinCompactedBytes = 1u << 20;

timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

Result<std::vector<codec::NamedContent>> read_vlmetalayers(const FrameOrigin& origin,
                                                           const codec::Frame& frame) {
  std::vector<codec::NamedContent> layers;
  for (const auto& layer : frame.vlmetalayers()) {
    FRAMEFS_TRY(auto content, codec::Frame::read_metalayer(*origin.source, layer));
    layers.push_back({layer.name, std::move(content)});
  }
  return layers;
}

Result<FrameOrigin> origin_of(const WriteTarget& source) {
  if (source.file) return contiguous_origin(source.file, source.name);
  UniqueFd index(::openat(source.directory.get(), kSparseIndexName.data(),
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!index) return system_error("open");
  UniqueFd directory(::fcntl(source.directory.get(), F_DUPFD_CLOEXEC, 0));
  if (!directory) return system_error("dup");
  return FrameOrigin{.type = codec::FrameType::sparse,
                     .source = std::make_shared<const FileReader>(std::move(index)),
                     .chunks = std::make_shared<const ChunkFiles>(std::move(directory)),
                     .name = source.name};
}

Status check_writable_frame(const codec::Frame& frame) {
  const auto& header = frame.header();
  if (header.layout == codec::FrameLayout::beta) {
    return codec::fail(Errc::unsupported, "writing to a frame of the betas");
  }
  if (header.has_variable_chunks()) {
    return codec::fail(Errc::unsupported, "writing to a frame of chunks that vary in size");
  }
  if (frame.chunk_count() > ChunkOverlay::kMaxChunks) {
    return codec::fail_value(Errc::over_limit, "number of chunks", 0,
                             static_cast<std::int64_t>(frame.chunk_count()));
  }
  return {};
}

std::uint32_t chunksize_of(const codec::FrameHeader& header) {
  const bool is_set = header.chunksize > 0 && header.chunksize <= codec::kMaxChunkBytes;
  if (is_set) return header.chunksize;
  return std::max(kDefaultChunksize - kDefaultChunksize % header.typesize, header.typesize);
}

// Errors: also ESTALE where another writer changed the frame meanwhile.
Result<FrameWriteSession::Opening> open_once(const WriteTarget& source, ContentId content_id,
                                             const codec::Limits& limits) {
  FRAMEFS_TRY(auto origin, origin_of(source));
  FRAMEFS_TRY(auto frame, source.bytes.empty()
                              ? open_frame_at(origin, limits)
                              : codec::Frame::open(codec::MemorySource(source.bytes), limits));
  FRAMEFS_CHECK(check_writable_frame(frame));
  std::vector<std::int64_t> entries(frame.chunk_count());
  FRAMEFS_CHECK(frame.read_entries(*origin.source, {0}, entries));
  std::unique_ptr<FrameBackend> backend;
  if (source.file) {
    FRAMEFS_TRY(backend, ContiguousBackend::open(source.file, frame, entries, limits));
  } else {
    auto files = std::static_pointer_cast<const ChunkFiles>(origin.chunks);
    UniqueFd directory(::fcntl(source.directory.get(), F_DUPFD_CLOEXEC, 0));
    if (!directory) return system_error("dup");
    FRAMEFS_TRY(backend,
                SparseBackend::open(std::move(directory), std::move(files), frame, entries));
  }
  FRAMEFS_TRY(auto vlmetalayers, read_vlmetalayers(origin, frame));
  // All parts that were read belong to one state.
  if (const auto checked = backend->check_unchanged(); !checked) {
    if (!backend->is_lost()) return std::unexpected(checked.error());
    return changed_while_opening();
  }
  const auto chunksize = chunksize_of(frame.header());
  const auto params = write_params(frame.header());
  return FrameWriteSession::Opening{.origin = std::move(origin),
                                    .content_id = content_id,
                                    .backend = std::move(backend),
                                    .frame = std::move(frame),
                                    .entries = std::move(entries),
                                    .vlmetalayers = std::move(vlmetalayers),
                                    .chunksize = chunksize,
                                    .params = params};
}

}  // namespace

// The frame may look damaged for a moment while another writer changes it.
Result<FrameWriteSession::Opening> open_for_writing_frame(WriteTarget source, ContentId content_id,
                                                          const codec::Limits& limits) {
  constexpr int kMaxAttempts = 8;
  auto opened = open_once(source, content_id, limits);
  for (int i = 1; i < kMaxAttempts && !opened && opened.error().sys == ESTALE; ++i) {
    source.bytes = {};
    opened = open_once(source, content_id, limits);
  }
  return opened;
}

Result<std::shared_ptr<FrameWriteSession>> FrameWriteSession::make(Opening opening,
                                                                   const WriteServices& services) {
  FRAMEFS_TRY(const auto st, stat_of(opening.backend->content_fd()));
  std::shared_ptr<FrameWriteSession> made(new FrameWriteSession(std::move(opening), services));
  FRAMEFS_CHECK(made->set_mtime(st.st_mtim, [] { return Status(); }));
  return made;
}

FrameWriteSession::FrameWriteSession(Opening opening, const WriteServices& services)
    : services_(services),
      id_(services.content_ids.next().value),
      header_(opening.frame.header()),
      backend_(std::move(opening.backend)),
      params_(opening.params),
      choose_params_(std::move(opening.choose_params)),
      lock_(backend_->lock_fd()),
      overlay_(std::in_place, services.overlay, opening.chunksize, opening.frame.nbytes(),
               std::move(opening.entries), opening.content_id) {
  overlay_.write([&](ChunkOverlay& overlay) {
    overlay.vlmetalayers = std::move(opening.vlmetalayers);
    overlay_frame_ = std::make_shared<const OverlayFrame>(
        std::move(opening.origin), std::move(opening.frame), services.reads, overlay);
  });
}

FrameWriteSession::Shown FrameWriteSession::shown() const {
  return overlay_.read([](const ChunkOverlay& overlay) {
    return Shown{.nbytes = overlay.nbytes(), .mtime = overlay.mtime};
  });
}

Status FrameWriteSession::set_mtime(const timespec& time, const std::function<Status()>& set) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Status {
    FRAMEFS_CHECK(set());
    overlay.mtime = time.tv_nsec == UTIME_NOW ? now() : time;
    backend_->note_times();
    return {};
  });
}

// After the loss of a session its bytes cannot be committed any more, so their memory is freed.
Status FrameWriteSession::note_lost(Status status) {
  if (!is_lost()) return status;
  overlay_.write([](ChunkOverlay& overlay) { overlay.abandon(); });
  release_ownership();
  return status;
}

bool FrameWriteSession::has_uncommitted() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return !overlay.is_committed(); });
}

Status FrameWriteSession::check() {
  if (is_removed_) return {};
  return note_lost(backend_->check_unchanged());
}

Result<FrameWriteSession::Change> FrameWriteSession::begin_change(
    std::chrono::milliseconds patience) {
  const auto join = [](Ownership& now) {
    if (!now.is_owned) return false;
    ++now.changers;
    ++now.changes;
    return true;
  };
  FRAMEFS_CHECK(backend_->check_usable());
  if (ownership_.with(join)) return Change(*this);
  const auto hold = owning_.take();
  if (ownership_.with(join)) return Change(*this);
  if (const auto taken = lock_.take(patience); !taken) {
    services_.reads.log.failure(name(), taken.error());
    return std::unexpected(taken.error());
  }
  // While another process owned the frame, that process may have changed it.
  if (const auto checked = check(); !checked) {
    lock_.release();
    return std::unexpected(checked.error());
  }
  ownership_.with([&](Ownership& now) {
    now.is_owned = true;
    join(now);
  });
  return Change(*this);
}

void FrameWriteSession::end_change() noexcept {
  const bool is_last = ownership_.with([](Ownership& now) { return --now.changers == 0; });
  if (is_last) release_ownership();
}

// Releases the ownership if nothing is left to be committed.
void FrameWriteSession::release_ownership() noexcept {
  const auto changes = ownership_.with([](const Ownership& now) { return now.changes; });
  if (!is_lost() && !is_removed_ && has_uncommitted()) return;
  ownership_.with([&](Ownership& now) {
    if (!now.is_owned || now.changers > 0 || now.changes != changes) return;
    lock_.release();
    now.is_owned = false;
  });
}

void FrameWriteSession::end_commit(bool is_committed) {
  overlay_.write([&](ChunkOverlay& overlay) { overlay.end_commit(is_committed); });
  release_ownership();
}

// The file shows the time of the write, not the time at which the bytes were stored.  A process
// that may write to the file is not always allowed to set its times.  That error is ignored,
// because the commit matters more.
void FrameWriteSession::restore_mtime() const {
  overlay_.read([&](const ChunkOverlay& overlay) {
    const std::array<timespec, 2> times{timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                                        overlay.mtime};
    static_cast<void>(::futimens(backend_->content_fd(), times.data()));
    backend_->note_times();
  });
}

bool FrameWriteSession::is_changed() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return overlay.is_changed(); });
}

Status FrameWriteSession::check_size(const ChunkOverlay& overlay, std::uint64_t offset,
                                     std::uint64_t size) {
  if (offset <= overlay.max_bytes() && size <= overlay.max_bytes() - offset) return {};
  return codec::fail(Errc::over_limit, "size of the file", offset);
}

Result<FrameWriteSession::Written> FrameWriteSession::write(std::span<const Piece> pieces) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Result<Written> {
    FRAMEFS_CHECK(backend_->check_usable());
    std::vector<codec::ByteRange> ranges;
    ranges.reserve(pieces.size());
    for (const auto& [offset, bytes] : pieces) {
      FRAMEFS_CHECK(check_size(overlay, offset, bytes.size()));
      ranges.push_back({offset, bytes.size()});
    }
    const auto needed = overlay.growth(ranges);
    const auto room = overlay.reserve(needed);
    if (!room) return Written{.missing_room = needed};
    for (const auto& [offset, bytes] : pieces) overlay.write(offset, bytes);
    overlay.mtime = now();
    return Written{.has_full = overlay.has_full_chunks()};
  });
}

Result<FrameWriteSession::Written> FrameWriteSession::append(std::span<const std::byte> bytes) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Result<Written> {
    FRAMEFS_CHECK(backend_->check_usable());
    const auto end = overlay.nbytes();
    FRAMEFS_CHECK(check_size(overlay, end, bytes.size()));
    const std::array<codec::ByteRange, 1> range{{{end, bytes.size()}}};
    const auto needed = overlay.growth(range);
    const auto room = overlay.reserve(needed);
    if (!room) return Written{.missing_room = needed};
    overlay.write(end, bytes);
    overlay.mtime = now();
    return Written{.has_full = overlay.has_full_chunks(), .offset = end};
  });
}

std::uint64_t FrameWriteSession::used_bytes() const {
  return overlay_.read([](const ChunkOverlay& overlay) { return overlay.used_bytes(); });
}

bool FrameWriteSession::has_room(std::uint64_t bytes) {
  return overlay_.write([&](ChunkOverlay& overlay) { return overlay.reserve(bytes).has_value(); });
}

Status FrameWriteSession::extend(std::uint64_t nbytes) {
  FRAMEFS_TRY(const bool is_longer, overlay_.write([&](ChunkOverlay& overlay) -> Result<bool> {
    FRAMEFS_CHECK(backend_->check_usable());
    FRAMEFS_CHECK(check_size(overlay, nbytes, 0));
    const bool grows = nbytes > overlay.nbytes();
    overlay.extend(nbytes);
    overlay.mtime = now();
    return grows;
  }));
  if (is_longer) return {};
  const auto hold = commit_lock_.take();
  keep_mtime_uncommitted();
  return {};
}

// If only the time has changed, no commit follows that would set it.
void FrameWriteSession::keep_mtime_uncommitted() const {
  if (!is_changed() && !is_removed_) restore_mtime();
}

void FrameWriteSession::drop(std::span<const std::int64_t> entries) {
  for (const auto entry : entries) backend_->drop(entry);
}

// A change that drops stored chunks takes `commit_lock_`: no commit that has these chunks is then
// under way.
Status FrameWriteSession::change_locked(
    const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change) {
  const auto hold = commit_lock_.take();
  FRAMEFS_TRY(const auto dropped,
              overlay_.write([&](ChunkOverlay& overlay) -> Result<std::vector<std::int64_t>> {
                FRAMEFS_CHECK(backend_->check_usable());
                auto entries = change(overlay);
                overlay.mtime = now();
                return entries;
              }));
  drop(dropped);
  keep_mtime_uncommitted();
  return {};
}

// Whether the vl-metalayers are too large for a frame that already has no chunks.
Result<bool> FrameWriteSession::are_large(std::span<const codec::NamedContent> vlmetalayers) const {
  FRAMEFS_TRY(const auto trailer, codec::encode_trailer(vlmetalayers));
  return trailer.size() > backend_->max_empty_trailer();
}

Status FrameWriteSession::truncate(std::uint64_t nbytes) {
  FRAMEFS_CHECK(
      overlay_.read([&](const ChunkOverlay& overlay) { return check_size(overlay, nbytes, 0); }));
  if (nbytes == 0) {
    FRAMEFS_TRY(const bool needs_chunks,
                overlay_.read([&](const ChunkOverlay& overlay) -> Result<bool> {
                  FRAMEFS_TRY(const bool is_large, are_large(overlay.vlmetalayers));
                  return is_large && overlay.nbytes() > 0;
                }));
    // The committed state must get these vl-metalayers while it still has chunks.
    if (needs_chunks) FRAMEFS_CHECK(commit(false));
  }
  return change_locked([&](ChunkOverlay& overlay) { return overlay.truncate(nbytes); });
}

Result<FrameWriteSession::Written> FrameWriteSession::zero(std::uint64_t offset,
                                                           std::uint64_t size) {
  Written written;
  FRAMEFS_CHECK(change_locked([&](ChunkOverlay& overlay) -> std::vector<std::int64_t> {
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

// The first chunk that is not all zeros determines how it and all later chunks are encoded.
Status FrameWriteSession::choose_params_from(std::span<const OverlayFrame::Storing> chunks) {
  if (!choose_params_) return {};
  const auto first = std::ranges::find_if(chunks, [&](const OverlayFrame::Storing& chunk) {
    return std::ranges::any_of(chunk.plain, [](std::byte byte) { return byte != std::byte{0}; });
  });
  if (first == chunks.end()) return {};
  FRAMEFS_TRY(params_, choose_params_(first->plain));
  choose_params_ = nullptr;
  const auto chunksize =
      overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunksize(); });
  auto header = codec::frame_header_for(params_, chunksize, header_.type);
  header.header_len = header_.header_len;
  backend_->set_params(header);
  return {};
}

// Chunks that are stored at a time, and the memory for that.
struct FrameWriteSession::Batch {
  std::span<const ChunkOverlay::Frozen> chunks;
  std::uint64_t bytes = 0;
};

FrameWriteSession::Batch FrameWriteSession::next_batch(
    std::span<const ChunkOverlay::Frozen> frozen) const {
  const auto most = services_.chunk_writer.budget().batch_bytes();
  Batch batch;
  std::size_t count = 0;
  for (const auto& chunk : frozen) {
    const auto buffer = chunk.bytes->whole(chunk.nbytes).empty() ? chunk.nbytes : 0;
    const auto bytes = buffer + ChunkWriter::memory_bytes(chunk.nbytes);
    if (count > 0 && batch.bytes + bytes > most) break;
    batch.bytes += bytes;
    ++count;
  }
  batch.chunks = frozen.first(count);
  return batch;
}

// Stores the chunks in batches: a frozen chunk has memory for little more than its written bytes,
// and storing it takes memory for all of them.
Status FrameWriteSession::write_frozen(std::vector<ChunkOverlay::Frozen> frozen) {
  Status status;
  std::span<ChunkOverlay::Frozen> left(frozen);
  while (!left.empty() && status) {
    const auto batch = next_batch(left);
    status = write_batch(batch);
    for (auto& chunk : left.first(batch.chunks.size())) chunk.bytes.reset();
    left = left.subspan(batch.chunks.size());
  }
  if (left.empty()) return status;
  overlay_.write([&](ChunkOverlay& overlay) {
    for (const auto& chunk : left) overlay.thaw(chunk);
  });
  return status;
}

// Afterwards each chunk of the batch is either stored or dirty again.
Status FrameWriteSession::write_batch(const Batch& batch) {
  const auto share = services_.chunk_writer.budget().take(batch.bytes);
  std::vector<std::unique_ptr<Bytes>> buffers;
  std::vector<OverlayFrame::Storing> chunks;
  for (const auto& frozen : batch.chunks) {
    auto plain = frozen.bytes->whole(frozen.nbytes);
    if (plain.empty()) {
      buffers.push_back(services_.chunk_writer.buffer(frozen.nbytes));
      plain = buffers.back()->writable();
    }
    chunks.push_back({frozen, plain});
  }
  std::vector<ChunkWriter::Job> jobs;
  std::vector<std::optional<ChunkUpdate>> updates(chunks.size());
  const auto complete = [&](const OverlayFrame::Storing& chunk) {
    return reading([&] { return overlay_frame_->complete(chunk); });
  };
  auto status = [&]() -> Status {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      // The parameters of a new frame are not chosen yet, and the choice needs all bytes of its
      // first chunk.
      if (!choose_params_) {
        FRAMEFS_TRY(updates[i],
                    reading([&] { return overlay_frame_->plan_update(chunks[i], params_); }));
      }
      if (!updates[i]) FRAMEFS_CHECK(complete(chunks[i]));
    }
    // The bytes that were read must belong to the frame that is written.
    FRAMEFS_CHECK(backend_->check_unchanged());
    FRAMEFS_CHECK(choose_params_from(chunks));
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      jobs.push_back({.plain = chunks[i].plain, .update = updates[i] ? &*updates[i] : nullptr});
    }
    services_.chunk_writer.write(*backend_, params_, jobs);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (!jobs[i].needs_all_bytes) continue;
      FRAMEFS_CHECK(complete(chunks[i]));
      jobs[i] = {.plain = jobs[i].plain};
      services_.chunk_writer.write(*backend_, params_, std::span(&jobs[i], 1));
    }
    return {};
  }();
  jobs.resize(chunks.size());
  std::vector<std::int64_t> dropped;
  overlay_.write([&](ChunkOverlay& overlay) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (status && jobs[i].entry) {
        const auto id = services_.content_ids.next();
        const auto old = overlay.land(chunks[i].frozen, *jobs[i].entry, id);
        if (old >= 0) dropped.push_back(old);
      } else {
        overlay.thaw(chunks[i].frozen);
      }
    }
  });
  drop(dropped);
  for (const auto& job : jobs) {
    if (status && !job.entry) status = std::unexpected(job.entry.error());
  }
  return status;
}

Status FrameWriteSession::flush_locked(ChunkOverlay::Which which) {
  if (is_removed_) return {};
  FRAMEFS_CHECK(backend_->check_usable());
  while (true) {
    auto frozen =
        overlay_.write([&](ChunkOverlay& overlay) { return overlay.freeze(which, kFlushedBytes); });
    if (frozen.empty()) return {};
    FRAMEFS_CHECK(note_lost(write_frozen(std::move(frozen))));
  }
}

Status FrameWriteSession::flush(ChunkOverlay::Which which) {
  const auto hold = commit_lock_.take();
  return flush_locked(which);
}

// An index entry cannot express that the last item of a zero chunk is truncated.
Result<std::int64_t> FrameWriteSession::write_last_zeros(std::uint64_t nbytes) {
  const auto chunksize =
      overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunksize(); });
  const auto size = nbytes % chunksize;
  const auto share = services_.chunk_writer.budget().take(size + ChunkWriter::memory_bytes(size));
  const std::vector<std::byte> zeros(size);
  std::array<ChunkWriter::Job, 1> job{ChunkWriter::Job{zeros}};
  services_.chunk_writer.write(*backend_, params_, job);
  if (job[0].entry) committed_only_ = *job[0].entry;
  return job[0].entry;
}

Status FrameWriteSession::prepare_locked() {
  struct Snapshot {
    std::vector<ChunkOverlay::Frozen> frozen;
    std::uint64_t nbytes = 0;
    std::uint64_t chunk_count = 0;
    std::vector<codec::NamedContent> vlmetalayers;
  };
  auto state = overlay_.write([](ChunkOverlay& overlay) {
    overlay.begin_commit();
    return Snapshot{
        overlay.freeze(ChunkOverlay::Which::all, std::numeric_limits<std::uint64_t>::max()),
        overlay.nbytes(), overlay.chunk_count(), overlay.vlmetalayers};
  });
  FRAMEFS_CHECK(write_frozen(std::move(state.frozen)));
  // Only the holder of `commit_lock_` changes entries, but writers may have appended more of them.
  auto entries = overlay_.read([&](const ChunkOverlay& overlay) {
    const auto& all = overlay.entries();
    return std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(state.chunk_count));
  });
  if (committed_only_) backend_->drop(*std::exchange(committed_only_, std::nullopt));
  if (!entries.empty() && state.nbytes % params_.typesize != 0 &&
      overlay_frame_->frame()->is_zero_entry(entries.back())) {
    const auto chunksize =
        overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunksize(); });
    if (state.nbytes % chunksize != 0) {
      FRAMEFS_TRY(entries.back(), write_last_zeros(state.nbytes));
    }
  }
  return backend_->prepare({state.nbytes, entries, state.vlmetalayers});
}

Status FrameWriteSession::finish_locked(bool durably) {
  FRAMEFS_CHECK(backend_->publish());
  is_durable_ = false;
  if (durably || backend_->wants_reclaim()) {
    FRAMEFS_CHECK(backend_->sync());
    is_durable_ = true;
    FRAMEFS_CHECK(backend_->reclaim());
  }
  restore_mtime();
  return {};
}

Status FrameWriteSession::commit_locked(bool durably) {
  if (is_removed_) return {};
  FRAMEFS_CHECK(backend_->check_usable());
  if (!is_changed()) {
    if (!durably || is_durable_) return {};
    FRAMEFS_CHECK(backend_->sync());
    is_durable_ = true;
    return {};
  }
  auto status = prepare_locked();
  if (status) status = backend_->sync();
  if (status) status = finish_locked(durably);
  // The next commit includes what this one could not store.
  end_commit(status.has_value());
  return note_lost(status);
}

Status FrameWriteSession::commit(bool durably) {
  const auto hold = commit_lock_.take();
  return commit_locked(durably);
}

Result<std::optional<FrameWriteSession::Commit>> FrameWriteSession::begin_commit() {
  auto hold = commit_lock_.take();
  if (is_removed_) return std::nullopt;
  FRAMEFS_CHECK(backend_->check_usable());
  if (!is_changed()) return std::nullopt;
  if (const auto prepared = prepare_locked(); !prepared) {
    end_commit(false);
    return std::unexpected(note_lost(prepared).error());
  }
  return Commit(*this, std::move(hold));
}

Status FrameWriteSession::finish_commit(const Commit&, const Status& synced) {
  if (!synced) backend_->give_up();
  auto status = synced ? finish_locked(false) : synced;
  end_commit(status.has_value());
  return note_lost(status);
}

Status FrameWriteSession::compact(bool always) {
  const auto change = begin_change(always ? kPatience : std::chrono::milliseconds(0));
  if (!change) {
    // The other process compacts the frame if that is needed.
    const bool is_busy = change.error().sys == EBUSY;
    return is_busy && !always ? Status{} : std::unexpected(change.error());
  }
  const auto hold = commit_lock_.take();
  FRAMEFS_CHECK(commit_locked(false));
  if (is_removed_) return {};
  struct State {
    std::uint64_t nbytes = 0;
    std::vector<std::int64_t> entries;
    std::vector<codec::NamedContent> vlmetalayers;
    bool is_changed = false;
  };
  const auto state = overlay_.read([](const ChunkOverlay& overlay) {
    return State{overlay.nbytes(), overlay.entries(), overlay.vlmetalayers, overlay.is_changed()};
  });
  // A writer has begun to write again, or the last chunk is stored for the committed state only.
  if (state.is_changed || committed_only_) return {};
  const auto [total, dead, is_refused] = backend_->usage(state.entries);
  const bool is_worth_it = dead >= kMinCompactedBytes && dead >= total - dead;
  if (!is_worth_it && !is_refused && !(always && dead > 0)) return {};
  const auto moved = [this](const std::vector<std::int64_t>& entries) {
    const auto id = services_.content_ids.next();
    overlay_.write([&](ChunkOverlay& overlay) { overlay.replace_entries(entries, id); });
  };
  FRAMEFS_CHECK(
      note_lost(backend_->compact({state.nbytes, state.entries, state.vlmetalayers}, moved)));
  is_durable_ = true;
  restore_mtime();
  return {};
}

Status FrameWriteSession::remove(const std::function<Status()>& remove) {
  const auto hold = commit_lock_.take();
  auto removed = remove();
  if (removed) is_removed_ = true;
  return removed;
}

void FrameWriteSession::release_old_states() {
  const auto hold = commit_lock_.take();
  if (!is_changed() && !is_lost() && !is_removed_) backend_->release_old_states();
}

Status FrameWriteSession::set_vlmeta(std::string_view name,
                                     std::optional<std::span<const std::byte>> content,
                                     Existing existing) {
  if (name.empty() || name.size() > codec::kMaxMetalayerName) {
    return system_error_of(ENAMETOOLONG, "setxattr");
  }
  std::vector<std::byte> stored;
  if (content) {
    FRAMEFS_TRY(stored, codec::encode_vlmetalayer(*content));
  }
  return overlay_.write([&](ChunkOverlay& overlay) -> Status {
    FRAMEFS_CHECK(backend_->check_usable());
    auto layers = overlay.vlmetalayers;
    const auto at = std::ranges::find(layers, name, &codec::NamedContent::name);
    const bool is_there = at != layers.end();
    if (!content && !is_there) return system_error_of(ENODATA, "removexattr");
    if (!is_there && existing == Existing::must) return system_error_of(ENODATA, "setxattr");
    if (is_there && existing == Existing::must_not) return system_error_of(EEXIST, "setxattr");
    if (!content) {
      layers.erase(at);
    } else if (is_there) {
      at->content = std::move(stored);
    } else if (layers.size() >= kMaxVlmetalayers) {
      return system_error_of(ENOSPC, "setxattr");
    } else {
      layers.push_back({std::string(name), std::move(stored)});
    }
    if (overlay.nbytes() == 0) {
      FRAMEFS_TRY(const bool is_large, are_large(layers));
      if (is_large) return system_error_of(ENOSPC, "setxattr");
    }
    overlay.vlmetalayers = std::move(layers);
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
    for (const auto& layer : overlay.vlmetalayers) names.push_back(layer.name);
    return names;
  });
}

}  // namespace framefs::fs

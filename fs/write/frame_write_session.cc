#include "fs/write/frame_write_session.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <thread>

#include "codec/core/limits.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/frame_writer.h"
#include "fs/core/may_wait.h"
#include "fs/source/chunk_files.h"
#include "fs/write/contiguous_backend.h"
#include "fs/write/sparse_backend.h"
#include "fs/write/write_params.h"

namespace framefs::fs {
namespace {

// For a frame that was written without a chunk size, because its first chunk never came.
constexpr std::uint32_t kDefaultChunksize = 4u << 20;
// With more of them, the reference library refuses to write to the frame.  Source: frame format,
// "Trailer".
constexpr std::size_t kMaxVlmetalayers = 16;

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

// The attributes of the file whose state is the frame's.
Result<struct stat> content_stat(const WriteTarget& source) {
  if (source.made) return source.made->stat;
  if (source.file) return stat_of(source.file->fd());
  struct stat st{};
  const bool is_there =
      ::fstatat(source.directory.get(), kSparseIndexName.data(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there) return system_error("stat");
  return st;
}

// `st` is the content_stat() before.
// Errors: also ESTALE if another writer changed the frame meanwhile.
Result<FrameWriteSession::Opening> open_once(const WriteTarget& source, const struct stat& st,
                                             ContentId content_id, const codec::Limits& limits) {
  FRAMEFS_TRY(auto origin, origin_of(source));
  auto content = origin;
  if (source.made) content.source = std::make_shared<codec::MemorySource>(source.made->bytes);
  FRAMEFS_TRY(auto frame, open_frame_at(content, limits));
  FRAMEFS_CHECK(check_writable_frame(frame));
  std::vector<std::int64_t> entries(frame.chunk_count());
  FRAMEFS_CHECK(frame.read_entries(*content.source, {0}, entries));
  std::unique_ptr<FrameBackend> backend;
  if (source.file) {
    FRAMEFS_TRY(backend,
                ContiguousBackend::open(source.file, st, *content.source, frame, entries, limits));
  } else {
    auto files = std::static_pointer_cast<const ChunkFiles>(origin.chunks);
    UniqueFd directory(::fcntl(source.directory.get(), F_DUPFD_CLOEXEC, 0));
    if (!directory) return system_error("dup");
    FRAMEFS_TRY(backend,
                SparseBackend::open(std::move(directory), std::move(files), frame, entries));
  }
  FRAMEFS_TRY(auto vlmetalayers, read_vlmetalayers(content, frame));
  // All parts that were read from the file belong to one state.
  if (const auto checked = source.made ? Status() : backend->check_unchanged(); !checked) {
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
                                    .stat = st,
                                    .chunksize = chunksize,
                                    .params = params};
}

}  // namespace

Result<std::unique_ptr<FrameOwnership>> ownership_of(WriteTarget& target) {
  FrameOwnership::Frame frame{};
  if (target.file) {
    frame = {.fd = target.file->fd(),
             .kind = FrameLock::Kind::file,
             .keeper = target.file,
             .is_new = target.made.has_value()};
  } else {
    UniqueFd directory(::fcntl(target.directory.get(), F_DUPFD_CLOEXEC, 0));
    if (!directory) return system_error("dup");
    auto keeper = std::make_shared<const UniqueFd>(std::move(directory));
    frame = {.fd = keeper->get(), .kind = FrameLock::Kind::directory, .keeper = keeper};
  }
  return std::make_unique<FrameOwnership>(std::move(frame), std::move(target.lock_file));
}

// An error of an attempt during which another writer changed the frame says nothing about the
// frame: the parts that were read may belong to several states.
Result<FrameWriteSession::Opening> open_for_writing_frame(WriteTarget source, ContentId content_id,
                                                          const codec::Limits& limits) {
  constexpr int kMaxAttempts = 10;
  constexpr std::chrono::milliseconds kPause{5};  // multiplied by the number of the attempt
  // Programs that change a frame in place leave it damaged for longer than this only if they end.
  // All pauses together are longer.
  constexpr std::chrono::milliseconds kLongestChange{100};
  auto ownership = std::move(source.ownership);
  if (!ownership) {
    FRAMEFS_TRY(ownership, ownership_of(source));
  }
  for (int attempt = 1;; ++attempt) {
    const auto before = content_stat(source);
    auto opened =
        before ? open_once(source, *before, content_id, limits) : std::unexpected(before.error());
    if (opened) {
      opened->ownership = std::move(ownership);
      return opened;
    }
    const auto after = content_stat(source);
    const bool is_same = before && after && identity_of(*before) == identity_of(*after) &&
                         age_of(*before) > kLongestChange && opened.error().sys != ESTALE;
    if (is_same || !before) return opened;
    if (attempt == kMaxAttempts) return changed_while_opening();
    if (!may_wait()) return std::unexpected(would_wait().error());
    std::this_thread::sleep_for(attempt * kPause);
    source.made.reset();
  }
}

std::shared_ptr<FrameWriteSession> FrameWriteSession::make(Opening opening,
                                                           const WriteServices& services) {
  return std::shared_ptr<FrameWriteSession>(new FrameWriteSession(std::move(opening), services));
}

FrameWriteSession::FrameWriteSession(Opening opening, const WriteServices& services)
    : services_(services),
      id_(services.content_ids.next().value),
      header_(opening.frame.header()),
      backend_(std::move(opening.backend)),
      params_(opening.params),
      choose_params_(std::move(opening.choose_params)),
      lock_(std::move(opening.ownership)),
      overlay_(std::in_place, services.overlay, opening.chunksize, opening.frame.nbytes(),
               std::move(opening.entries), opening.content_id) {
  overlay_.write([&](ChunkOverlay& overlay) {
    overlay.vlmetalayers = std::move(opening.vlmetalayers);
    overlay.mtime = opening.stat.st_mtim;
    overlay.ctime = opening.ctime.value_or(opening.stat.st_ctim);
    overlay_frame_ = std::make_shared<const OverlayFrame>(
        std::move(opening.origin), std::move(opening.frame), services.reads, overlay);
  });
}

FrameWriteSession::Shown FrameWriteSession::shown() const {
  return overlay_.read([](const ChunkOverlay& overlay) {
    return Shown{.nbytes = overlay.nbytes(), .mtime = overlay.mtime, .ctime = overlay.ctime};
  });
}

Status FrameWriteSession::set_mtime(const timespec& time, const std::function<Status()>& set) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Status {
    FRAMEFS_CHECK(set());
    overlay.ctime = now();
    overlay.mtime = time.tv_nsec == UTIME_NOW ? overlay.ctime : time;
    backend_->note_times();
    return {};
  });
}

void FrameWriteSession::note_attributes() {
  overlay_.write([](ChunkOverlay& overlay) { overlay.ctime = now(); });
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
    overlay.touch(now());
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
    overlay.touch(now());
    return Written{.has_full = overlay.has_full_chunks(), .offset = end};
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
    FRAMEFS_CHECK(check_size(overlay, nbytes, 0));
    const bool grows = nbytes > overlay.nbytes();
    overlay.extend(nbytes);
    overlay.touch(now());
    return grows;
  }));
  if (is_longer) return {};
  const auto hold = commit_lock_.take();
  keep_mtime_uncommitted();
  return {};
}

// A change that drops stored chunks takes `commit_lock_`: no commit that has these chunks is then
// under way.
Status FrameWriteSession::change_locked(
    const std::function<std::vector<std::int64_t>(ChunkOverlay&)>& change) {
  const auto hold = take_commit_lock_promptly();
  if (!hold) return would_wait();
  FRAMEFS_TRY(const auto dropped,
              overlay_.write([&](ChunkOverlay& overlay) -> Result<std::vector<std::int64_t>> {
                FRAMEFS_CHECK(backend_->check_usable());
                auto entries = change(overlay);
                overlay.touch(now());
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
    if (needs_chunks && !may_wait()) return would_wait();
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
    overlay.ctime = now();
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

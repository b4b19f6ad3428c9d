#include "fs/write/frame_write_opening.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "codec/core/limits.h"
#include "codec/frame/chunk_checksums.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/metalayer_content.h"
#include "fs/core/threads/may_wait.h"
#include "fs/source/chunk_files.h"
#include "fs/source/empty_frame.h"
#include "fs/write/commit/contiguous_backend.h"
#include "fs/write/commit/sparse_backend.h"
#include "fs/write/commit/write_params.h"
#include "fs/write/overlay/chunk_overlay.h"

namespace framefs::fs {
namespace {

// For a frame that was written without a chunk size, because its first chunk never came.
constexpr std::uint32_t kDefaultChunksize = 4u << 20;

Result<std::vector<codec::NamedContent>> read_vlmetalayers(const FrameOrigin& origin,
                                                           const codec::Frame& frame) {
  std::vector<codec::NamedContent> layers;
  for (const auto& layer : frame.vlmetalayers()) {
    if (layer.name == codec::kChecksumLayer) continue;
    FRAMEFS_TRY(auto content, codec::read_metalayer(*origin.source, layer));
    layers.push_back({layer.name, std::move(content)});
  }
  return layers;
}

Result<FrameOrigin> origin_of(const WriteTarget& source) {
  if (source.file) {
    return FrameOrigin{codec::FrameType::contiguous, source.file, source.file, source.name};
  }
  FRAMEFS_TRY(auto index, open_sparse_index(source.directory.get(), O_RDONLY));
  UniqueFd directory(::fcntl(source.directory.get(), F_DUPFD_CLOEXEC, 0));
  if (!directory) return system_error("dup");
  const auto file = std::make_shared<const FileReader>(std::move(index));
  return FrameOrigin{.type = codec::FrameType::sparse,
                     .source = file,
                     .chunks = std::make_shared<const ChunkFiles>(std::move(directory), file),
                     .name = source.name};
}

Status check_writable_frame(const codec::Frame& frame, const OverlayBudget& overlay) {
  const auto& header = frame.header();
  if (header.chunksize > overlay.max_chunk_bytes()) {
    return codec::fail_value(Errc::over_limit, "chunk size of a frame that is opened for writing",
                             0, header.chunksize);
  }
  if (header.layout == codec::FrameLayout::beta) {
    return codec::fail(Errc::unsupported, "writing to a frame of the betas");
  }
  if (header.has_variable_chunks()) {
    return codec::fail(Errc::unsupported, "writing to a frame of chunks that vary in size");
  }
  // The record of what is there would no longer be true.
  if (frame.data_place().is_remote_cache())
    return refusal(EOPNOTSUPP, "writing to a cache of remote data");
  FRAMEFS_CHECK(frame.data_place().check_holds_data());
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
      ::fstatat(source.directory.get(), kSparseIndexName, &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there) return system_error("stat");
  return st;
}

// `st` is the content_stat() before.
// Errors: also ESTALE if another writer changed the frame meanwhile.
Result<FrameWriteOpening> open_once(const WriteTarget& source, const struct stat& st,
                                    ContentId content_id, const codec::Limits& limits,
                                    OverlayBudget& overlay) {
  FRAMEFS_TRY(auto origin, origin_of(source));
  auto content = origin;
  if (source.made) {
    content.source = std::make_shared<codec::MemorySource>(source.made->bytes);
  } else if (source.file && st.st_size == 0 && is_empty_frame(*source.file, source.name)) {
    content.source = empty_frame();
  }
  FRAMEFS_TRY(auto frame, open_frame_at(content, limits));
  FRAMEFS_CHECK(check_writable_frame(frame, overlay));
  // The index of a few hundred bytes may stand for millions of chunks.
  OverlayBudget::Index index(overlay);
  if (!index.try_grow(ChunkOverlay::index_bytes(frame.chunk_count()))) {
    return no_room_for_index();
  }
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
  if (!source.renews_checksums) {
    FRAMEFS_TRY(const auto known, codec::read_checksums(frame, *content.source, limits));
    if (known.state != codec::FrameChecksums::State::none) {
      backend->checksums()->keep(entries, known.chunks);
    }
  }
  // All parts that were read from the file belong to one state.
  if (const auto checked = source.made ? Status() : backend->check_unchanged(); !checked) {
    if (!backend->is_lost()) return std::unexpected(checked.error());
    return changed_while_opening();
  }
  // The reference library leaves the size of the chunks open in frames without chunks.
  const auto chunksize = chunksize_of(frame.header());
  if (chunksize != frame.header().chunksize) backend->set_chunksize(chunksize);
  const auto params = write_params(frame);
  return FrameWriteOpening{.origin = std::move(origin),
                           .content_id = content_id,
                           .backend = std::move(backend),
                           .frame = std::move(frame),
                           .index = std::move(index),
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
Result<FrameWriteOpening> open_for_writing_frame(WriteTarget source, ContentId content_id,
                                                 const codec::Limits& limits,
                                                 OverlayBudget& overlay) {
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
    auto opened = before ? open_once(source, *before, content_id, limits, overlay)
                         : std::unexpected(before.error());
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

}  // namespace framefs::fs

#include "src/compact/frame_compactor.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fs/core/files/file.h"
#include "fs/inspect/chunk_info.h"
#include "src/compact/frame_target.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;
using codec::Errc;
using codec::Error;

// A chunk that this build cannot decode can still be copied as it is.
bool is_movable(const fs::ChunkInfo& chunk) {
  return !chunk.error || (chunk.error->kind == Errc::unsupported && chunk.header);
}

// Returns the offset of the second of two chunks that overlap.  Overlap means that the offset or
// the stored size of one of them is wrong.
std::optional<std::uint64_t> first_shared(std::vector<codec::ByteRange> chunks) {
  std::ranges::sort(chunks, {}, &codec::ByteRange::offset);
  const auto shared = std::ranges::adjacent_find(chunks, [](const auto& chunk, const auto& next) {
    return next.offset - chunk.offset < chunk.size;
  });
  if (shared == chunks.end()) return std::nullopt;
  return std::next(shared)->offset;
}

}  // namespace

FrameCompactor::FrameCompactor(fs::Log& log, bool creates_lock_file)
    : log_(log), creates_lock_file_(creates_lock_file), kit_(log, {}) {}

// The compacted frame keeps as many bytes of a chunk as the chunk's header states, so the stated
// sizes must be right.
fs::Status FrameCompactor::check_chunks(const stdfs::path& path,
                                        const fs::FrameWriteSession::Opening& opening) {
  const bool in_one_file = opening.origin.type == codec::FrameType::contiguous;
  std::optional<Error> wrong;
  std::vector<codec::ByteRange> places;
  fs::visit_chunks(opening.frame, opening.origin, kit_.limits(), [&](const fs::ChunkInfo& chunk) {
    if (!is_movable(chunk)) {
      wrong = chunk.error;
      log_.failure(fmt::format("{}: chunk {}", path.string(), chunk.index), *wrong);
    } else if (in_one_file && chunk.offset && chunk.header) {
      places.push_back({*chunk.offset, chunk.header->cbytes});
    }
    return !wrong;
  });
  if (wrong) return std::unexpected(*wrong);
  if (const auto shared = first_shared(std::move(places))) {
    return codec::fail(Errc::bad_field, "overlapping chunks", *shared);
  }
  return {};
}

fs::Result<FrameCompactor::Saving> FrameCompactor::compact(const stdfs::path& path) {
  // The frame is read as it will be compacted.
  FRAMEFS_TRY(const auto place, fs::Place::behind_links(path));
  FRAMEFS_TRY(auto source, take_frame(place, creates_lock_file_));
  const auto file = source.file;
  struct stat before{};
  if (file) {
    FRAMEFS_TRY(before, fs::stat_of(file->fd()));
  }
  const auto done = [&]() -> fs::Status {
    FRAMEFS_TRY(auto opening, kit_.begin(std::move(source)));
    FRAMEFS_CHECK(check_chunks(path, opening));
    const auto session = kit_.make(std::move(opening));
    FRAMEFS_CHECK(session->compact(true));
    session->release_old_states();
    return {};
  }();
  if (!file) {
    FRAMEFS_CHECK(done);
    return Saving{.is_sparse = true};
  }
  // The times are restored after a failed compaction too.
  const auto restored = set_times(file->fd(), before);
  FRAMEFS_CHECK(done);
  FRAMEFS_CHECK(restored);
  FRAMEFS_TRY(const auto after, file->size());
  return Saving{.before = static_cast<std::uint64_t>(before.st_size), .after = after};
}

}  // namespace framefs

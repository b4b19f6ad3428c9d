#include "src/compact/frame_compactor.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "codec/core/byte_source.h"
#include "fs/core/file.h"
#include "fs/inspect/chunk_info.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;
using codec::Errc;
using codec::Error;

// Opens the frame at `path`: its file, or the directory of a sparse frame.
fs::Result<fs::WriteTarget> open_source(const stdfs::path& path) {
  fs::UniqueFd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == EISDIR) {
    fd = fs::UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return fs::system_error("open");
    struct stat st{};
    if (::fstatat(fd.get(), "chunks.b2frame", &st, AT_SYMLINK_NOFOLLOW) != 0) {
      return fs::system_error_of(EISDIR, "not a frame");
    }
    return fs::WriteTarget{.file = nullptr, .directory = std::move(fd), .name = path.string()};
  }
  if (!fd) return fs::system_error("open");
  FRAMEFS_TRY(const auto st, fs::stat_of(fd.get()));
  if (!S_ISREG(st.st_mode)) return fs::system_error_of(EINVAL, "neither a file nor a directory");
  return fs::WriteTarget{.file = std::make_shared<const fs::FileReader>(std::move(fd)),
                         .directory = {},
                         .name = path.string()};
}

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

fs::Status set_times(int fd, const struct stat& st) {
  const std::array<timespec, 2> times{st.st_atim, st.st_mtim};
  if (::futimens(fd, times.data()) != 0) return fs::system_error("utimens");
  return {};
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
  FRAMEFS_TRY(auto source, open_source(path));
  const auto file = source.file;
  source.lock_file = fs::Blosc2Lock(fs::lock_file_opener(path.string(), !file), creates_lock_file_);
  // The frame is read as it will be compacted.
  FRAMEFS_TRY(source.ownership, fs::ownership_of(source));
  FRAMEFS_CHECK(source.ownership->take(fs::FrameWriteSession::kPatience));
  source.ownership->forget_change();
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

#include "src/check/frame_rehasher.h"

#include <sys/stat.h>

#include <span>
#include <utility>
#include <vector>

#include "codec/frame/chunk_checksums.h"
#include "src/compact/frame_target.h"

namespace framefs {
namespace {

fs::Result<std::vector<codec::ChunkChecksum>> read_all(
    const fs::FrameWriteSession::Opening& opening) {
  if (opening.entries.size() > codec::kMaxChecksums) {
    return codec::fail_value(codec::Errc::over_limit, "number of chunks with checksums", 0,
                             static_cast<std::int64_t>(opening.entries.size()));
  }
  std::vector<codec::ChunkChecksum> checksums(opening.entries.size());
  for (std::size_t i = 0; i < checksums.size(); ++i) {
    if (opening.entries[i] < 0) continue;
    const auto at = codec::stored_offset(opening.frame.header(), opening.entries[i]);
    FRAMEFS_TRY(checksums[i], codec::read_checksum(*opening.origin.chunks, at));
  }
  return checksums;
}

}  // namespace

FrameRehasher::FrameRehasher(fs::Log& log, bool creates_lock_file)
    : creates_lock_file_(creates_lock_file), kit_(log, {}) {}

fs::Status FrameRehasher::rehash(const fs::Place& place) {
  FRAMEFS_TRY(auto target, take_frame(place, creates_lock_file_));
  target.renews_checksums = true;
  FRAMEFS_TRY(auto opening, kit_.begin(std::move(target)));
  FRAMEFS_TRY(const auto checksums, read_all(opening));
  const auto before = opening.stat;
  const auto session = kit_.make(std::move(opening));
  FRAMEFS_TRY(const auto change, session->begin_change());
  const auto committed = [&]() -> fs::Status {
    FRAMEFS_CHECK(session->vlmeta().renew_checksums(checksums));
    FRAMEFS_CHECK(session->commit(true));
    session->release_old_states();
    return {};
  }();
  const auto restored = set_times(session->content_fd(), before);
  FRAMEFS_CHECK(committed);
  return restored;
}

}  // namespace framefs

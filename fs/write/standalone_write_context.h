#pragma once

#include <atomic>
#include <cstdint>

#include "codec/core/limits.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/buffer_pool.h"
#include "fs/read/decode_cache.h"
#include "fs/write/commit/chunk_writer.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/overlay/overlay_budget.h"

namespace framefs::fs {

// Everything that write sessions need in a program without a mount.
// Lifetime: outlives the sessions, and the log outlives it.
class StandaloneWriteContext {
 public:
  struct Sizes {
    std::uint64_t buffer_bytes = 1u << 20;
    std::uint64_t cache_bytes = 1u << 20;
    std::uint64_t overlay_bytes = 1u << 20;
    unsigned threads = 1;
  };
  StandaloneWriteContext(Log& log, const Sizes& sizes)
      : log_(log),
        buffers_(sizes.buffer_bytes),
        cache_(sizes.cache_bytes),
        pool_(sizes.threads),
        blocks_(cache_, buffers_, pool_),
        chunk_writer_(pool_),
        overlay_(sizes.overlay_bytes) {}

  // Errors: those of open_for_writing_frame().
  Result<FrameWriteSession::Opening> begin(WriteTarget source) {
    return open_for_writing_frame(std::move(source), content_ids_.next(), limits_, overlay_);
  }
  std::shared_ptr<FrameWriteSession> make(FrameWriteSession::Opening opening) {
    return FrameWriteSession::make(std::move(opening),
                                   WriteServices{{limits_, buffers_, cache_, blocks_, log_},
                                                 chunk_writer_,
                                                 overlay_,
                                                 content_ids_,
                                                 commits_,
                                                 clock_});
  }

  [[nodiscard]] const codec::Limits& limits() const noexcept { return limits_; }
  OverlayBudget& overlay() noexcept { return overlay_; }

 private:
  Log& log_;
  const codec::Limits limits_;
  BufferPool buffers_;
  DecodeCache cache_;
  WorkerPool pool_;
  BlockFetcher blocks_;
  ChunkWriter chunk_writer_;
  OverlayBudget overlay_;
  ContentIds content_ids_;
  CommitCounters commits_;
  SourceClock clock_;
};

}  // namespace framefs::fs

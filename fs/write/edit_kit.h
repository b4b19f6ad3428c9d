#pragma once

#include <atomic>
#include <cstdint>

#include "codec/core/limits.h"
#include "fs/core/log.h"
#include "fs/core/worker_pool.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/buffer_pool.h"
#include "fs/read/decode_cache.h"
#include "fs/write/chunk_storing.h"
#include "fs/write/frame_edit.h"
#include "fs/write/overlay_budget.h"

namespace framefs::fs {

// All that edits need, for those who have no mount.
// Lifetime: outlives the edits, and the log outlives it.
class EditKit {
 public:
  struct Sizes {
    std::uint64_t buffer_bytes = 1u << 20;
    std::uint64_t cache_bytes = 1u << 20;
    std::uint64_t overlay_bytes = 1u << 20;
    unsigned threads = 1;
  };
  EditKit(Log& log, const Sizes& sizes)
      : log_(log),
        buffers_(sizes.buffer_bytes),
        cache_(sizes.cache_bytes),
        pool_(sizes.threads),
        blocks_(cache_, buffers_, pool_),
        storing_(pool_),
        overlay_(sizes.overlay_bytes) {}

  // Errors: those of open_for_edit().
  Result<FrameEdit::Opening> begin(EditSource source) {
    return open_for_edit(std::move(source), next_state_++, limits_);
  }
  // Errors: those of FrameEdit::make().
  Result<std::shared_ptr<FrameEdit>> make(FrameEdit::Opening opening) {
    return FrameEdit::make(
        std::move(opening),
        EditServices{{limits_, buffers_, cache_, blocks_, log_}, storing_, overlay_, next_state_});
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
  ChunkStoring storing_;
  OverlayBudget overlay_;
  std::atomic<std::uint64_t> next_state_{1};
};

}  // namespace framefs::fs

#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>

#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "fs/core/log.h"
#include "fs/core/worker_pool.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/buffer_pool.h"
#include "fs/read/decode_cache.h"
#include "fs/write/chunk_storing.h"
#include "fs/write/frame_edit.h"
#include "fs/write/overlay_budget.h"

namespace framefs {

// Rewrites frames without dead space, where they are: links, mode, owner, attributes and times stay.
// Has all that an edit needs, which outside of a mount is little.
class FrameCompactor {
 public:
  explicit FrameCompactor(fs::Log& log);

  struct Saving {
    std::uint64_t before = 0;  // bytes of the file
    std::uint64_t after = 0;
    bool is_sparse = false;  // whose chunks are files of their own, among which nothing is dead
  };
  // The frame is whole and holds the same at any moment, whatever happens.  Nobody else may write to it
  // meanwhile.
  // Errors: those of open_for_edit(); of a chunk whose stored size cannot be relied on, which is then
  // logged with its number; no_space, system.
  fs::Result<Saving> compact(const std::filesystem::path& path);

 private:
  fs::Status check_chunks(const std::filesystem::path& path, const fs::FrameEdit::Opening& opening);

  fs::Log& log_;
  const codec::Limits limits_;
  fs::BufferPool buffers_;
  fs::DecodeCache cache_;
  fs::WorkerPool pool_;
  fs::BlockFetcher blocks_;
  fs::ChunkStoring storing_;
  fs::OverlayBudget overlay_;
  std::atomic<std::uint64_t> next_state_{1};
};

}  // namespace framefs

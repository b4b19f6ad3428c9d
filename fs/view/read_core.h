#pragma once

#include "codec/core/limits.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/mount_options.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/buffer_pool.h"
#include "fs/read/content_id.h"
#include "fs/read/decode_cache.h"
#include "fs/view/frame_chunks.h"

namespace framefs::fs {

// The objects with which a mount decodes what it reads.  All its files share one cache, one pool of
// threads and one pool of buffers.  Each object refers only to those before it.
// Threads: any number.
struct ReadCore {
  // Lifetime: `log` outlives the `ReadCore`.
  ReadCore(const MountOptions& options, Log& failures)
      : limits(options.limits),
        log(failures),
        workers(options.threads),
        buffers(BufferPool::share_of(options.cache_bytes)),
        cache(options.cache_bytes),
        blocks(cache, buffers, workers) {}
  ReadCore(const ReadCore&) = delete;
  ReadCore& operator=(const ReadCore&) = delete;
  ~ReadCore() = default;

  // Lifetime: this object outlives the services.
  [[nodiscard]] ReadServices services(bool verify_checksums) {
    return {limits, buffers, cache, blocks, log, verify_checksums};
  }

  // Constant after construction.
  const codec::Limits limits;
  // Self-synchronised.
  Log& log;
  WorkerPool workers;
  BufferPool buffers;
  DecodeCache cache;
  BlockFetcher blocks;
  ContentIds content_ids;
};

}  // namespace framefs::fs

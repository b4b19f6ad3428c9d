#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "codec/core/byte_source.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/read/block_parts.h"
#include "fs/read/block_request.h"
#include "fs/read/block_runs.h"
#include "fs/read/buffer_pool.h"
#include "fs/read/decode_cache.h"
#include "fs/read/decode_context.h"

namespace framefs::fs {

class FetchedRuns;

// Provides decoded blocks.  A block comes from the cache, from another thread that is decoding it
// already, or from the file.  Adjacent blocks are read from the file in one read, and all blocks
// are decoded in parallel.
// Threads: any number.
class BlockFetcher {
 public:
  // Lifetime: all of them outlive it.
  BlockFetcher(DecodeCache& cache, BufferPool& buffers, WorkerPool& workers);
  ~BlockFetcher();
  BlockFetcher(const BlockFetcher&) = delete;
  BlockFetcher& operator=(const BlockFetcher&) = delete;

  using Block = std::shared_ptr<const Bytes>;
  struct Failure {
    Error error;  // `at` counts from the start of `source`
    ChunkIndex chunk;
  };
  // Returns the requested blocks, in the order of the requests.
  // Errors: the first error, once all work that was begun has ended.
  std::expected<std::vector<Block>, Failure> fetch(const codec::ByteSource& source,
                                                   std::span<const BlockRequest> requests);

  // Brings blocks into the cache ahead of their readers, except blocks that another thread is
  // decoding.  It uses the calling thread alone and claims a few blocks at a time; a reader that
  // wants a block that is not claimed yet decodes it itself.  A later fetch() of the block reports
  // its error.
  // Returns false if decoding ahead should pause.  Either the cache has no room for the blocks
  // beside the values in use.  Or the CPUs are so busy that readers had to wait for blocks that
  // were being decoded ahead.
  [[nodiscard]] bool fetch_ahead(const codec::ByteSource& source,
                                 std::span<const BlockRequest> requests);

  // Parts of blocks, for readers that do not need the rest of them.
  [[nodiscard]] BlockParts& parts() noexcept { return parts_; }

  // One block for a caller that needs it once.  A block that is not in the cache is decoded by the
  // calling thread, and does not enter the cache.  `first` is the chunk's first block, if the block
  // cannot be decoded without it.
  // Errors: those of reading and decoding; `at` counts from the start of `source`.
  // `request` is for a block, not for a group.
  Result<Block> fetch_alone(const codec::ByteSource& source, const BlockRequest& request,
                            std::span<const std::byte> first);

 private:
  struct Job;                         // one block to decode into the cache
  struct Batch;                       // the state of one fetch()
  using Run = std::span<Job* const>;  // jobs whose stored bytes are adjacent, in file order
  // The decoded first blocks, by chunk, of chunks whose other blocks cannot be decoded without
  // them.
  using FirstBlocks = std::unordered_map<std::uint64_t, Block>;

  std::expected<FirstBlocks, Failure> first_blocks(const codec::ByteSource& source,
                                                   std::span<const BlockRequest> requests);
  void claim(Batch& batch, FirstBlocks& firsts);
  void wait_for_others(Batch& batch, const codec::ByteSource& source);
  // The stored bytes of each run.
  static std::vector<ByteRange> ranges_of(std::span<const Run> runs);
  void decode(Batch& batch, const codec::ByteSource& source);
  void decode_run(const codec::ByteSource& source, Run run);
  // The same without a copy of the stored bytes.
  void decode_run(const FetchedRuns& fetched, Run run);
  void fail(Job& job, const Error& error);
  Status decode_job(const codec::ByteSource& source, DecodeContext& context, Job& job,
                    std::span<const std::byte> stored);

  DecodeCache& cache_;
  BufferPool& buffers_;
  WorkerPool& workers_;
  DecodeContexts contexts_;
  BlockParts parts_;
  // No block is decoded ahead before this time.  No other data depends on this value.
  std::atomic<std::chrono::steady_clock::time_point> ahead_from_{};
};

}  // namespace framefs::fs

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "codec/chunk/block_decoder.h"
#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"
#include "codec/frame/chunk_group.h"
#include "fs/core/guarded.h"
#include "fs/core/idle_pool.h"
#include "fs/core/worker_pool.h"
#include "fs/read/buffer_pool.h"
#include "fs/read/decode_cache.h"
#include "fs/read/range_plan.h"
#include "fs/read/recent_touches.h"

namespace framefs::fs {

class FetchedRuns;

// One block that a read needs; or a group of small chunks, which is fetched and kept like a block.
struct BlockRequest {
  std::shared_ptr<const codec::Chunk> chunk;  // null for a group
  ChunkIndex chunk_index;                     // of a group: its first chunk
  BlockIndex block;
  ContentId content;  // of the chunk
  std::shared_ptr<const codec::ChunkGroup> group = nullptr;
};

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

  // Decodes only the bytes `within` of one block, for this reader alone and without the cache.  It
  // does so for a small part of a block that no reader has requested lately.  A random reader then
  // does not pay for bytes that it does not read, and does not fill the cache with them.  A codec
  // that decodes whole blocks only does the same while readers seldom come back to a block, and
  // once the cache is full.
  // Damage behind the part is not noticed until more of the block is read.
  struct Part {
    Block bytes;  // null if fetch() is the better way; fetch() also reports a damaged block
    // Whether the other parts are worth having in the kernel's page cache: a small part was read
    // lately, too, or they have to be decoded for this one and readers often come back to blocks.
    bool is_hot = false;
  };
  // `request` is for a block, not for a group.
  Part fetch_part(const codec::ByteSource& source, const BlockRequest& request, ByteRange within);

  // Notes a touch of the bytes `within` of a block.  Returns whether decode_parts() is the better
  // way to them than fetch(), for a reader that touches many blocks: the part is small, its decoder
  // stops behind it, this is one of the first touches lately, and the reader does not come back to
  // the block at once.  A block that readers come back to is decoded once and kept.
  // Damage behind the part is not noticed, as in fetch_part().
  [[nodiscard]] bool is_early_part(const BlockRequest& request, ByteRange within);

  // A range of a block's bytes.
  struct BlockPart {
    BlockRequest request;  // for a block, not for a group
    ByteRange within;
  };
  // Decodes parts for a caller that keeps them itself: the cache is not used.  Calls use(i, block)
  // for part i, from several threads at once; only its bytes `within` of `block` are valid.  The
  // source is not far.
  // Errors: one of the errors, once all work that was begun has ended.
  using Use = std::function<void(std::size_t, std::span<const std::byte>)>;
  Status decode_parts(const codec::ByteSource& source, std::span<const BlockPart> parts,
                      const Use& use);

  // One block for a caller that needs it once.  A block that is not in the cache is decoded by the
  // calling thread, and does not enter the cache.  `first` is the chunk's first block, if the block
  // cannot be decoded without it.
  // Errors: those of reading and decoding; `at` counts from the start of `source`.
  // `request` is for a block, not for a group.
  Result<Block> fetch_alone(const codec::ByteSource& source, const BlockRequest& request,
                            std::span<const std::byte> first);

  // The key of a block in the cache.
  static CacheKey key_of(const BlockRequest& request);

  // The bytes of the cache's budget that `requests` will use at once, for DecodeCache::admit().
  [[nodiscard]] static std::uint64_t needed_bytes(std::span<const BlockRequest> requests);

 private:
  struct Context;                     // the decoder and buffers of one thread
  struct StoredBlock;                 // one block, and the place of its stored bytes
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
  static Status decode_part(const codec::ByteSource& source, Context& context,
                            const StoredBlock& block, std::span<const std::byte> stored,
                            ByteRange within, const Use& use);
  [[nodiscard]] bool is_worth_a_part(const BlockRequest& request, ByteRange within);
  [[nodiscard]] bool is_worth_the_rest(const BlockRequest& request) const;
  Status decode_job(const codec::ByteSource& source, Context& context, Job& job,
                    std::span<const std::byte> stored);

  DecodeCache& cache_;
  BufferPool& buffers_;
  WorkerPool& workers_;
  RecentTouches touches_;
  // No block is decoded ahead before this time.  No other data depends on this value.
  std::atomic<std::chrono::steady_clock::time_point> ahead_from_{};
  // For larger blocks, a thread allocates new memory each time.
  static constexpr KeptIdle kKeptContexts{.max_bytes = 4u << 20};
  IdlePool<Context, kKeptContexts> contexts_;
};

}  // namespace framefs::fs

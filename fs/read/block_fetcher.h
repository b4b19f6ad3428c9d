#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "codec/chunk/block_decoder.h"
#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"
#include "fs/core/guarded.h"
#include "fs/core/idle_pool.h"
#include "fs/core/worker_pool.h"
#include "fs/read/buffer_pool.h"
#include "fs/read/decode_cache.h"
#include "fs/read/first_touches.h"
#include "fs/read/range_plan.h"

namespace framefs::fs {

// One block that a read needs.
struct BlockRequest {
  std::shared_ptr<const codec::Chunk> chunk;
  ChunkIndex chunk_index;
  BlockIndex block;
  ContentId content;  // of the chunk
};

// Brings decoded blocks: from the cache, from whoever is decoding them already, or from the file,
// then adjacent ones in one read and all in parallel.
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
  // The blocks asked for, in that order.
  // Errors: the first one that hit, when all that was begun has ended.
  std::expected<std::vector<Block>, Failure> fetch(const codec::ByteSource& source,
                                                   std::span<const BlockRequest> requests);

  // Brings those of the blocks into the cache that nobody else brings, in the calling thread alone,
  // and a few at a time: who wants one of the others meanwhile decodes it himself.  What fails is
  // left to those who fetch() it.  False where that is not wanted: the cache has no room for them
  // beside what is in use; or others keep the processors so busy that who came to need what was
  // being brought had to wait for it.
  [[nodiscard]] bool fetch_ahead(const codec::ByteSource& source,
                                 std::span<const BlockRequest> requests);

  // Bytes `within` of one block, decoded for this reader alone: of a block that nobody has asked
  // for lately, and of which they take less than the whole.  Who reads here and there then neither
  // pays for what he does not read nor fills the cache with it.  Null where fetch() is the better
  // way, which also says what is wrong with a block.  A block may be damaged behind the part: that
  // shows when more of it is asked for.
  Block fetch_part(const codec::ByteSource& source, const BlockRequest& request, ByteRange within);

  // The place of a block in the cache.
  static CacheKey key_of(const BlockRequest& request);

  // How much of the cache's budget `requests` will use at once, for DecodeCache::admit().
  [[nodiscard]] static std::uint64_t needed_bytes(std::span<const BlockRequest> requests);

 private:
  struct Context;                     // what a thread needs to decode
  struct Job;                         // one block to decode
  struct Batch;                       // the state of one fetch()
  using Run = std::span<Job* const>;  // jobs whose stored bytes are adjacent, in file order
  // The decoded first blocks of chunks whose other blocks cannot be decoded without, by chunk.
  using FirstBlocks = std::unordered_map<std::uint64_t, Block>;

  std::expected<FirstBlocks, Failure> first_blocks(const codec::ByteSource& source,
                                                   std::span<const BlockRequest> requests);
  void claim(Batch& batch, FirstBlocks& firsts);
  void wait_for_others(Batch& batch, const codec::ByteSource& source);
  // All jobs, cut into runs that one thread decodes in one go.
  static std::vector<Run> runs_of(Batch& batch);
  void decode(Batch& batch, const codec::ByteSource& source);
  void decode_run(const codec::ByteSource& source, Run run);
  static std::size_t run_length(std::span<Job* const> jobs);
  [[nodiscard]] bool is_worth_a_part(const BlockRequest& request, ByteRange within);
  Status decode_job(Context& context, Job& job, std::span<const std::byte> stored);

  DecodeCache& cache_;
  BufferPool& buffers_;
  WorkerPool& workers_;
  FirstTouches touches_;
  // Nothing is brought ahead before that; nobody infers anything else from it.
  std::atomic<std::chrono::steady_clock::time_point> ahead_from_{};
  // Of larger blocks, a thread takes new memory each time.
  static constexpr KeptIdle kKeptContexts{.max_bytes = 4u << 20};
  IdlePool<Context, kKeptContexts> contexts_;
};

}  // namespace framefs::fs

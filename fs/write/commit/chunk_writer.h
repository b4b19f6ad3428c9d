#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/chunk/chunk_update.h"
#include "fs/core/diagnostics/counters.h"
#include "fs/core/resources/idle_pool.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/read/buffer_pool.h"
#include "fs/write/commit/frame_backend.h"
#include "fs/write/commit/store_budget.h"

namespace framefs::fs {

using codec::BlockIndex;
using codec::ByteRange;
using codec::ChunkUpdate;

// The bytes of a chunk that are not all in memory: some lie in the chunk that is stored below.
class IncompleteChunk {
 public:
  IncompleteChunk() = default;
  IncompleteChunk(const IncompleteChunk&) = delete;
  IncompleteChunk& operator=(const IncompleteChunk&) = delete;
  virtual ~IncompleteChunk() = default;

  [[nodiscard]] virtual std::uint32_t nbytes() const = 0;
  // Called once, before the other functions.  Plans how to store the chunk without encoding the
  // blocks that were not written.  Returns nothing if all of the chunk has to be encoded.
  virtual Result<std::optional<ChunkUpdate>> plan_update() = 0;
  // Makes `out` the bytes of the chunk from `offset` on.  Threads: any number.
  virtual Status read(std::uint32_t offset, std::span<std::byte> out) = 0;
  // Reads that begin at multiples of this size do not decode the same block.
  [[nodiscard]] virtual std::uint32_t piece_bytes() const = 0;
  // Memory of the chunk's size for a read of all bytes; nothing if the caller has to provide it.
  [[nodiscard]] virtual std::span<std::byte> memory() = 0;
};

// Encodes chunks on all CPUs and stores them.  The stored bytes do not depend on the number of
// CPUs.
// Threads: any number.
class ChunkWriter {
 public:
  // Lifetime: `workers` outlives it.
  explicit ChunkWriter(WorkerPool& workers);

  // Admits batches of chunks, each with the memory of memory_bytes() and of its buffers.
  [[nodiscard]] StoreBudget& budget() noexcept { return budget_; }
  // The number of jobs of a batch that are done at a time.
  [[nodiscard]] unsigned threads() const noexcept { return workers_.threads(); }
  // The memory that write() takes to store one chunk of `nbytes`, without a buffer for its bytes.
  [[nodiscard]] static std::uint64_t memory_bytes(std::uint64_t nbytes) noexcept;
  // The most memory that write() takes for a chunk that a thread stores beside other chunks.
  [[nodiscard]] static std::uint64_t memory_beside_others(std::uint64_t nbytes,
                                                          std::uint64_t blocksize) noexcept;
  // Memory for the bytes of a chunk whose own memory is too small.
  [[nodiscard]] std::unique_ptr<Bytes> buffer(std::size_t size) {
    return std::make_unique<Bytes>(buffers_, size);
  }

  struct Job {
    std::span<const std::byte> plain;       // all bytes of the chunk; not empty
    IncompleteChunk* incomplete = nullptr;  // if set, it has the bytes, and `plain` has none
    Result<std::int64_t> entry = 0;         // the index entry, once the chunk has been stored
  };
  // Does all jobs.  Each job then has its result or its error.  Calls on_done(i) once jobs[i] has
  // it, in the thread that did the job.
  // Errors of a job: those of IncompleteChunk; those of encoding; those of
  // FrameBackend::write_chunk().
  void write(FrameBackend& backend, const codec::EncodeParams& params, std::span<Job> jobs,
             const std::function<void(std::size_t)>& on_done);

  // The bytes of all chunks that were stored, for statistics.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_bytes_.value(); }

 private:
  struct Lane {
    codec::ChunkEncoder chunks;
    codec::BlockEncoder blocks;
  };
  Result<std::int64_t> write_job(FrameBackend& backend, const codec::EncodeParams& params,
                                 const Job& job, bool in_parallel);
  Result<std::int64_t> write_plain(FrameBackend& backend, const codec::EncodeParams& params,
                                   std::span<const std::byte> plain, bool in_parallel);
  Result<std::int64_t> write_one(FrameBackend& backend, const codec::EncodeParams& params,
                                 std::span<const std::byte> plain);
  Result<std::optional<std::int64_t>> write_update(FrameBackend& backend, const ChunkUpdate& update,
                                                   IncompleteChunk& chunk, bool in_parallel);
  Status read_all(IncompleteChunk& chunk, std::span<std::byte> out, bool in_parallel);
  struct Encoded {
    std::unique_ptr<Bytes> bytes;
    Result<std::size_t> size = 0;
  };
  // `plain` is the block, and not the chunk.
  Encoded encode_block(const codec::ChunkPlan& plan, BlockIndex block,
                       std::span<const std::byte> plain);
  Encoded encode_block(const codec::ChunkPlan& plan, BlockIndex block, IncompleteChunk& chunk);
  Result<std::int64_t> write_by_blocks(FrameBackend& backend, const codec::EncodeParams& params,
                                       std::span<const std::byte> plain);
  Result<std::int64_t> store(FrameBackend& backend, std::span<const std::byte> chunk);

  // The memory kept for the bytes and the encoded blocks of the chunks being stored.
  static constexpr std::uint64_t kKeptBytes = 4u << 20;

  WorkerPool& workers_;
  StoreBudget budget_;
  BufferPool buffers_{kKeptBytes};
  IdlePool<Lane> lanes_;
  Counter stored_bytes_;
};

}  // namespace framefs::fs

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/chunk/chunk_update.h"
#include "fs/core/counters.h"
#include "fs/core/idle_pool.h"
#include "fs/core/worker_pool.h"
#include "fs/read/buffer_pool.h"
#include "fs/write/frame_backend.h"
#include "fs/write/store_budget.h"

namespace framefs::fs {

using codec::BlockIndex;
using codec::ChunkUpdate;

// Encodes chunks on all CPUs and stores them.  The stored bytes do not depend on the number of
// CPUs.
// Threads: any number.
class ChunkWriter {
 public:
  // Lifetime: `workers` outlives it.
  explicit ChunkWriter(WorkerPool& workers);

  // Admits batches of chunks, each with the memory of memory_bytes() and of its buffers.
  [[nodiscard]] StoreBudget& budget() noexcept { return budget_; }
  // The memory that write() takes to store a chunk of `nbytes`.
  [[nodiscard]] static std::uint64_t memory_bytes(std::uint64_t nbytes) noexcept;
  // Memory for the bytes of a chunk whose own memory is too small.
  [[nodiscard]] std::unique_ptr<Bytes> buffer(std::size_t size) {
    return std::make_unique<Bytes>(buffers_, size);
  }

  struct Job {
    std::span<const std::byte> plain;  // not empty
    // If set, `plain` holds only the blocks that the update does not keep.
    const ChunkUpdate* update = nullptr;
    Result<std::int64_t> entry = 0;  // the index entry, once the chunk has been stored
    // Nothing was written: the update would not be smaller than the plain bytes.  The caller has to
    // repeat the job with all plain bytes.
    bool needs_all_bytes = false;
  };
  // Does all jobs.  Each job then has its result or its error.
  // Errors of a job: those of encoding; those of FrameBackend::write_chunk().
  void write(FrameBackend& backend, const codec::EncodeParams& params, std::span<Job> jobs);

  // The bytes of all chunks that were stored, for statistics.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_bytes_.value(); }

 private:
  struct Lane {
    codec::ChunkEncoder chunks;
    codec::BlockEncoder blocks;
  };
  Result<std::int64_t> write_one(FrameBackend& backend, const codec::EncodeParams& params,
                                 std::span<const std::byte> plain);
  Result<std::int64_t> write_update(FrameBackend& backend, Job& job, bool in_parallel);
  struct Encoded {
    std::unique_ptr<Bytes> bytes;
    Result<std::size_t> size = 0;
  };
  Encoded encode_block(const codec::ChunkPlan& plan, std::uint64_t block,
                       std::span<const std::byte> plain);
  Result<std::int64_t> write_by_blocks(FrameBackend& backend, const codec::EncodeParams& params,
                                       std::span<const std::byte> plain);
  Result<std::int64_t> store(FrameBackend& backend, std::span<const std::byte> chunk);

  // The memory kept for the encoded blocks of one chunk.
  static constexpr std::uint64_t kKeptBytes = 4u << 20;

  WorkerPool& workers_;
  StoreBudget budget_;
  BufferPool buffers_{kKeptBytes};
  IdlePool<Lane> lanes_;
  Counter stored_bytes_;
};

}  // namespace framefs::fs

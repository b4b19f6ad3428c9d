#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/core/scratch.h"
#include "fs/core/guarded.h"
#include "fs/core/worker_pool.h"
#include "fs/read/buffer_pool.h"
#include "fs/write/frame_backend.h"

namespace framefs::fs {

// Encodes chunks on all CPUs and stores them.  What is stored does not depend on their number.
// Threads: any number.
class ChunkWriter {
 public:
  // Lifetime: outlives it.
  explicit ChunkWriter(WorkerPool& workers) : workers_(workers) {}

  struct Job {
    std::span<const std::byte> plain;  // not empty
    Result<std::int64_t> entry = 0;    // of the index, once it has been stored
  };
  // Does all jobs; each has its result or its error afterwards.
  // Errors of a job: those of encoding; those of FrameBackend::write_chunk().
  void write(FrameBackend& backend, const codec::EncodeParams& params, std::span<Job> jobs);

 private:
  struct Lane {
    codec::ChunkEncoder chunks;
    codec::BlockEncoder blocks;
    codec::Scratch stored;
  };
  class Lease;
  Result<std::int64_t> write_one(FrameBackend& backend, const codec::EncodeParams& params,
                                 std::span<const std::byte> plain);
  Result<std::int64_t> write_by_blocks(FrameBackend& backend, const codec::EncodeParams& params,
                                       std::span<const std::byte> plain);

  // For the blocks of one chunk.
  static constexpr std::uint64_t kKeptBytes = 8u << 20;

  WorkerPool& workers_;
  BufferPool buffers_{kKeptBytes};
  Guarded<std::vector<std::unique_ptr<Lane>>> idle_;
};

}  // namespace framefs::fs

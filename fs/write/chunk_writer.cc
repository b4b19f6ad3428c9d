#include "fs/write/chunk_writer.h"

#include <algorithm>
#include <utility>

#include "codec/frame/frame_index.h"

namespace framefs::fs {
namespace {

// A smaller single chunk is not worth the cost of several threads.
constexpr std::size_t kMinSharedBytes = 256u << 10;
// The blocks of a large chunk are encoded in groups of this size, so that their encoded bytes take
// little memory beside the chunk.
constexpr std::uint64_t kGroupBytes = 8u << 20;
// The memory of the batches that are stored at a time.
constexpr std::uint64_t kBatchesBytes = 8u << 20;
constexpr std::uint64_t kBatchesBytesPerThread = 2u << 20;

// The index entry of a zero chunk stores only the number of items.
codec::EncodeParams params_for(codec::EncodeParams params, std::size_t nbytes) {
  params.omit_zero_chunks = nbytes % params.typesize == 0;
  return params;
}

}  // namespace

ChunkWriter::ChunkWriter(WorkerPool& workers)
    : workers_(workers), budget_(kBatchesBytes + workers.threads() * kBatchesBytesPerThread) {}

std::uint64_t ChunkWriter::memory_bytes(std::uint64_t nbytes) noexcept {
  return codec::ChunkPlan::max_bytes(nbytes) + std::min(nbytes, kGroupBytes);
}

void ChunkWriter::write(FrameBackend& backend, const codec::EncodeParams& params,
                        std::span<Job> jobs) {
  if (jobs.size() == 1) {
    auto& job = jobs[0];
    if (job.update != nullptr) {
      job.entry = write_update(backend, job, true);
    } else {
      job.entry = job.plain.size() < kMinSharedBytes ? write_one(backend, params, job.plain)
                                                     : write_by_blocks(backend, params, job.plain);
    }
    return;
  }
  workers_.run(jobs.size(), [&](std::size_t i) {
    auto& job = jobs[i];
    job.entry = job.update != nullptr ? write_update(backend, job, false)
                                      : write_one(backend, params, job.plain);
  });
}

Result<std::int64_t> ChunkWriter::store(FrameBackend& backend, std::span<const std::byte> chunk) {
  auto entry = backend.write_chunk(chunk);
  if (entry) stored_bytes_.add(chunk.size());
  return entry;
}

Result<std::int64_t> ChunkWriter::write_one(FrameBackend& backend,
                                            const codec::EncodeParams& params,
                                            std::span<const std::byte> plain) {
  const auto lane = lanes_.take();
  Bytes stored(buffers_, codec::ChunkPlan::max_bytes(plain.size()));
  const auto out = stored.writable();
  FRAMEFS_TRY(const auto size, lane->chunks.encode(params_for(params, plain.size()), plain, out));
  if (size == 0) return codec::index_code(codec::Special::zero);
  return store(backend, out.first(size));
}

Result<std::int64_t> ChunkWriter::write_by_blocks(FrameBackend& backend,
                                                  const codec::EncodeParams& params,
                                                  std::span<const std::byte> plain) {
  FRAMEFS_TRY(const auto plan, codec::ChunkPlan::make(params_for(params, plain.size()), plain));
  if (plan.outcome() != codec::ChunkOutcome::blocks) return write_one(backend, params, plain);
  Bytes stored(buffers_, codec::ChunkPlan::max_bytes(plain.size()));
  const auto out = stored.writable();
  const auto group = std::max<std::uint64_t>(1, kGroupBytes / plan.blocksize());
  std::size_t at = plan.blocks_begin();
  std::vector<std::uint32_t> ends;
  for (std::uint64_t first = 0; first < plan.block_count(); first += group) {
    std::vector<Encoded> encoded(std::min(group, plan.block_count() - first));
    workers_.run(encoded.size(),
                 [&](std::size_t i) { encoded[i] = encode_block(plan, first + i, plain); });
    for (const auto& block : encoded) {
      FRAMEFS_TRY(const auto size, block.size);
      if (!plan.is_worthwhile(at + size)) {
        return store(backend, out.first(plan.write_plain(plain, out)));
      }
      std::ranges::copy(block.bytes->view().first(size), out.subspan(at).begin());
      at += size;
      ends.push_back(static_cast<std::uint32_t>(at));
    }
  }
  return store(backend, out.first(plan.finish_blocks(ends, out)));
}

auto ChunkWriter::encode_block(const codec::ChunkPlan& plan, std::uint64_t block,
                               std::span<const std::byte> plain) -> Encoded {
  const BlockIndex index{block};
  const auto [at, size] = plan.block_range(index);
  Encoded encoded;
  encoded.bytes = std::make_unique<Bytes>(buffers_, plan.max_block_bytes(index));
  const auto lane = lanes_.take();
  encoded.size =
      lane->blocks.encode(plan, index, plain.subspan(at, size), encoded.bytes->writable());
  return encoded;
}

Result<std::int64_t> ChunkWriter::write_update(FrameBackend& backend, Job& job, bool in_parallel) {
  const auto& plan = job.update->plan;
  std::vector<std::uint64_t> changed;
  for (std::uint64_t block = 0; block < plan.block_count(); ++block) {
    if (!job.update->kept[block]) changed.push_back(block);
  }
  // The changed blocks are encoded in groups, each when its first block is needed.
  const auto group = std::max<std::uint64_t>(1, kGroupBytes / plan.blocksize());
  std::vector<Encoded> encoded;
  std::size_t used = 0;   // of `encoded`
  std::size_t begun = 0;  // of `changed`
  const auto next_encoded = [&](BlockIndex) -> Result<std::span<const std::byte>> {
    if (used == encoded.size()) {
      encoded = std::vector<Encoded>(std::min(group, changed.size() - begun));
      const auto encode = [&](std::size_t i) {
        encoded[i] = encode_block(plan, changed[begun + i], job.plain);
      };
      if (in_parallel) {
        workers_.run(encoded.size(), encode);
      } else {
        for (std::size_t i = 0; i < encoded.size(); ++i) encode(i);
      }
      begun += encoded.size();
      used = 0;
    }
    const auto& block = encoded[used++];
    FRAMEFS_TRY(const auto size, block.size);
    return block.bytes->view().first(size);
  };
  Bytes assembled(buffers_, codec::ChunkPlan::max_bytes(job.plain.size()));
  const auto out = assembled.writable();
  FRAMEFS_TRY(const auto size, codec::assemble_update(*job.update, next_encoded, out));
  job.needs_all_bytes = size == 0;
  if (size == 0) return 0;
  return store(backend, out.first(size));
}

}  // namespace framefs::fs

#include "fs/write/commit/chunk_writer.h"

#include <algorithm>
#include <utility>

#include "codec/core/checked.h"
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

// All bytes and the new chunk; or the new chunk and three times the bytes of a block: as they are
// stored below, complete, and encoded.
std::uint64_t ChunkWriter::memory_beside_others(std::uint64_t nbytes,
                                                std::uint64_t blocksize) noexcept {
  constexpr std::uint64_t kBlocks = 3;
  return nbytes + codec::ChunkPlan::max_bytes(nbytes) + std::min(nbytes, kBlocks * blocksize);
}

void ChunkWriter::write(FrameBackend& backend, const codec::EncodeParams& params,
                        std::span<Job> jobs, const std::function<void(std::size_t)>& on_done) {
  const bool is_alone = jobs.size() == 1;
  workers_.run(jobs.size(), [&](std::size_t i) {
    jobs[i].entry = write_job(backend, params, jobs[i], is_alone);
    on_done(i);
  });
}

Result<std::int64_t> ChunkWriter::write_job(FrameBackend& backend,
                                            const codec::EncodeParams& params, const Job& job,
                                            bool in_parallel) {
  if (job.incomplete == nullptr) return write_plain(backend, params, job.plain, in_parallel);
  auto& chunk = *job.incomplete;
  FRAMEFS_TRY(const auto update, chunk.plan_update());
  if (update) {
    FRAMEFS_TRY(const auto entry, write_update(backend, *update, chunk, in_parallel));
    if (entry) return *entry;
  }
  auto memory = chunk.memory();
  std::unique_ptr<Bytes> own;
  if (memory.empty()) {
    own = buffer(chunk.nbytes());
    memory = own->writable();
  }
  FRAMEFS_CHECK(read_all(chunk, memory, in_parallel));
  return write_plain(backend, params, memory, in_parallel);
}

Status ChunkWriter::read_all(IncompleteChunk& chunk, std::span<std::byte> out, bool in_parallel) {
  if (!in_parallel || out.size() < kMinSharedBytes) return chunk.read(0, out);
  const std::size_t piece = std::max<std::size_t>(1, chunk.piece_bytes());
  std::vector<Status> results(codec::div_ceil(out.size(), piece));
  workers_.run(results.size(), [&](std::size_t i) {
    const auto part = out.subspan(i * piece, std::min(piece, out.size() - i * piece));
    results[i] = chunk.read(static_cast<std::uint32_t>(i * piece), part);
  });
  for (const auto& result : results) FRAMEFS_CHECK(result);
  return {};
}

Result<std::int64_t> ChunkWriter::write_plain(FrameBackend& backend,
                                              const codec::EncodeParams& params,
                                              std::span<const std::byte> plain, bool in_parallel) {
  return in_parallel && plain.size() >= kMinSharedBytes ? write_by_blocks(backend, params, plain)
                                                        : write_one(backend, params, plain);
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
    workers_.run(encoded.size(), [&](std::size_t i) {
      const BlockIndex block{first + i};
      const auto [at_block, size] = plan.block_range(block);
      encoded[i] = encode_block(plan, block, plain.subspan(at_block, size));
    });
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

auto ChunkWriter::encode_block(const codec::ChunkPlan& plan, BlockIndex block,
                               std::span<const std::byte> plain) -> Encoded {
  Encoded encoded;
  encoded.bytes = std::make_unique<Bytes>(buffers_, plan.max_block_bytes(block));
  const auto lane = lanes_.take();
  encoded.size = lane->blocks.encode(plan, block, plain, encoded.bytes->writable());
  return encoded;
}

auto ChunkWriter::encode_block(const codec::ChunkPlan& plan, BlockIndex block,
                               IncompleteChunk& chunk) -> Encoded {
  const auto [at, size] = plan.block_range(block);
  Bytes plain(buffers_, size);
  const auto read = chunk.read(static_cast<std::uint32_t>(at), plain.writable());
  if (!read) return {.bytes = nullptr, .size = std::unexpected(read.error())};
  return encode_block(plan, block, plain.view());
}

// Returns nothing, and stores nothing, if the update would not be smaller than the plain bytes.
Result<std::optional<std::int64_t>> ChunkWriter::write_update(FrameBackend& backend,
                                                              const ChunkUpdate& update,
                                                              IncompleteChunk& chunk,
                                                              bool in_parallel) {
  const auto& plan = update.plan;
  std::vector<BlockIndex> changed;
  for (BlockIndex block; block.value < plan.block_count(); ++block.value) {
    if (!update.kept[block.value]) changed.push_back(block);
  }
  // The changed blocks are encoded when the first of them is needed, in groups for several threads.
  const auto group = in_parallel ? std::max<std::uint64_t>(1, kGroupBytes / plan.blocksize()) : 1;
  std::vector<Encoded> encoded;
  std::size_t used = 0;   // of `encoded`
  std::size_t begun = 0;  // of `changed`
  const auto next_encoded = [&](BlockIndex) -> Result<std::span<const std::byte>> {
    if (used == encoded.size()) {
      encoded.clear();
      encoded.resize(std::min<std::uint64_t>(group, changed.size() - begun));
      workers_.run(encoded.size(), [&](std::size_t i) {
        encoded[i] = encode_block(plan, changed[begun + i], chunk);
      });
      begun += encoded.size();
      used = 0;
    }
    const auto& block = encoded[used++];
    FRAMEFS_TRY(const auto size, block.size);
    return block.bytes->view().first(size);
  };
  Bytes assembled(buffers_, codec::ChunkPlan::max_bytes(chunk.nbytes()));
  const auto out = assembled.writable();
  FRAMEFS_TRY(const auto size, codec::assemble_update(update, next_encoded, out));
  if (size == 0) return std::nullopt;
  FRAMEFS_TRY(const auto entry, store(backend, out.first(size)));
  return entry;
}

}  // namespace framefs::fs

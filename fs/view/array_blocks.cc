#include "fs/view/array_blocks.h"

#include <algorithm>
#include <optional>

#include "codec/array/block_run_cursor.h"
#include "codec/core/work_budget.h"

namespace framefs::fs {

Status ArrayBlocks::open_chunk(ChunkIndex index, OpenedChunk& opened) const {
  if (opened.chunk && opened.index == index) return {};
  FRAMEFS_TRY(auto chunk, frame_.chunk(index, frame_.frame()->header().chunksize));
  const auto& header = chunk->header();
  const bool is_cut = chunk->body() == codec::ChunkBody::blocks;
  if (is_cut && (header.vl_blocks || header.blocksize != layout_.block_bytes())) {
    constexpr std::uint64_t kBlocksizeAt = 8;
    const Error error{.kind = Errc::bad_field,
                      .field = "blocksize of an array's chunk",
                      .at = kBlocksizeAt,
                      .value = header.blocksize};
    frame_.log_failure(error, index);
    return std::unexpected(error);
  }
  opened = {.chunk = std::move(chunk), .index = index};
  return {};
}

BlockRequest ArrayBlocks::request(std::shared_ptr<const codec::Chunk> chunk, Block block) const {
  auto request = frame_.request(std::move(chunk), block.chunk, block.block);
  request.used_bytes = layout_.used_bytes(block.chunk, block.block);
  return request;
}

Status ArrayBlocks::plan(Batch& batch, Block block) const {
  FRAMEFS_CHECK(open_chunk(block.chunk, batch.opened));
  const auto& chunk = batch.opened.chunk;
  FRAMEFS_CHECK(frame_.check_fetched(
      block.chunk, *chunk, {block.block.value * layout_.block_bytes(), layout_.block_bytes()}));
  switch (chunk->body()) {
    case codec::ChunkBody::special:
      for (codec::BlockRunCursor runs(layout_, block.chunk, block.block, batch.range);
           runs.next();) {
        const auto& run = runs.run();
        chunk->fill(block.block.value * layout_.block_bytes() + run.within,
                    batch.out.subspan(run.offset - batch.range.offset, run.size));
      }
      return {};
    case codec::ChunkBody::plain: {
      FRAMEFS_TRY(const auto bytes, read_plain(*chunk, block));
      copy_runs(batch, block, bytes->view());
      return {};
    }
    case codec::ChunkBody::blocks:
      break;
  }
  batch.tables.add(*chunk);
  batch.add(block, request(chunk, block));
  return {};
}

// Reads a block of a chunk that is stored uncompressed.
Result<BlockFetcher::Block> ArrayBlocks::read_plain(const codec::Chunk& chunk, Block block) const {
  const auto block_bytes = layout_.block_bytes();
  auto bytes = std::make_shared<Bytes>(frame_.services().buffers, block_bytes);
  FRAMEFS_CHECK(
      frame_.read_plain(chunk, block.chunk, block.block.value * block_bytes, bytes->writable()));
  return bytes;
}

void ArrayBlocks::copy_runs(const Batch& batch, Block block,
                            std::span<const std::byte> bytes) const {
  codec::BlockRunCursor runs(layout_, block.chunk, block.block, batch.range);
  while (runs.next()) {
    const auto& run = runs.run();
    std::copy_n(bytes.subspan(run.within, run.size).data(), run.size,
                batch.out.subspan(run.offset - batch.range.offset, run.size).data());
  }
}

void ArrayBlocks::copy(const Batch& batch, std::size_t i, std::span<const std::byte> block) const {
  copy_runs(batch, batch.blocks[i], block);
}

// The bytes of a block that a range of the array needs, and those between them.
ByteRange ArrayBlocks::needed_part(Block block, ByteRange range) const {
  std::optional<ByteRange> part;
  for (codec::BlockRunCursor runs(layout_, block.chunk, block.block, range); runs.next();) {
    const auto& run = runs.run();
    if (!part) part = {run.within, 0};
    part->size = run.within + run.size - part->offset;
  }
  return part.value_or(ByteRange{});
}

Status ArrayBlocks::decode(const Batch& batch, std::span<const BlockPart> parts) const {
  if (parts.empty()) return {};
  return frame_.decode_parts(
      parts, [&](std::size_t i, std::span<const std::byte> block) { copy(batch, i, block); });
}

Status ArrayBlocks::decode_parts(const Batch& batch) const {
  std::vector<BlockPart> parts;
  parts.reserve(batch.requests.size());
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    parts.push_back({batch.requests[i], needed_part(batch.blocks[i], batch.range)});
  }
  return decode(batch, parts);
}

Status ArrayBlocks::take_early_parts(Batch& batch) const {
  if (!frame_.has_parts()) return {};
  Batch early{.range = batch.range, .out = batch.out};
  Batch others = early;
  std::vector<BlockPart> parts;
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    const auto block = batch.blocks[i];
    auto& request = batch.requests[i];
    const auto needed = needed_part(block, batch.range);
    const bool is_early = frame_.is_early_part(request, needed);
    if (is_early) parts.push_back({request, needed});
    (is_early ? early : others).add(block, std::move(request));
  }
  const auto decoded = decode(early, parts);
  if (!decoded && codec::is_work_error(decoded.error())) return decoded;
  // The fetch of the whole blocks reports which of them is damaged.
  for (std::size_t i = 0; !decoded && i < early.requests.size(); ++i) {
    others.add(early.blocks[i], std::move(early.requests[i]));
  }
  batch.blocks = std::move(others.blocks);
  batch.requests = std::move(others.requests);
  return {};
}

}  // namespace framefs::fs

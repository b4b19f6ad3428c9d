#include "codec/chunk/chunk_reader.h"

#include <algorithm>

namespace framefs::codec {

Status ChunkReader::read(std::uint64_t offset, std::span<std::byte> out) {
  if (offset > chunk_.nbytes() || out.size() > chunk_.nbytes() - offset) {
    return fail(Errc::truncated, "chunk", offset);
  }
  switch (chunk_.body()) {
    case ChunkBody::special:
      chunk_.fill(offset, out);
      return {};
    case ChunkBody::plain:
      return source_.read_at(chunk_.plain_offset() + offset, out);
    case ChunkBody::blocks:
      break;
  }
  while (!out.empty()) {
    const auto block = chunk_.block_at(offset);
    const auto range = chunk_.block_range(block);
    const std::uint64_t skip = offset - range.offset;
    const auto take = std::min<std::uint64_t>(range.size - skip, out.size());
    if (take == range.size) {
      FRAMEFS_CHECK(read_block(block, out.first(take)));
    } else {
      FRAMEFS_CHECK(load_partial(block, range.size));
      std::copy_n(partial_.data() + skip, take, out.data());
    }
    out = out.subspan(take);
    offset += take;
  }
  return {};
}

// Readers of small pieces come back to one block again and again.
Status ChunkReader::load_partial(BlockIndex block, std::uint64_t size) {
  if (partial_block_ == block) return {};
  partial_block_.reset();
  partial_.resize(size);
  FRAMEFS_CHECK(read_block(block, partial_));
  partial_block_ = block;
  return {};
}

std::uint64_t ChunkReader::memory_bytes() const noexcept {
  return stored_.capacity() + first_block_.capacity() + partial_.capacity();
}

Status ChunkReader::read_block(BlockIndex block, std::span<std::byte> out) {
  const bool needs_first = chunk_.needs_first_block() && block.value != 0;
  if (needs_first && first_block_.empty()) {
    std::vector<std::byte> first(chunk_.block_range({0}).size);
    FRAMEFS_CHECK(read_block({0}, first));
    first_block_ = std::move(first);
  }
  FRAMEFS_TRY(const auto where, chunk_.stored_range(block));
  stored_.resize(where.size);
  FRAMEFS_CHECK(source_.read_at(where.offset, stored_));
  const auto first =
      needs_first ? std::span<const std::byte>(first_block_) : std::span<const std::byte>{};
  return decoder_.decode(chunk_, block, stored_, out, first);
}

}  // namespace framefs::codec

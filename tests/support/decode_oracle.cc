#include "tests/support/decode_oracle.h"

#include <algorithm>

#include "codec/chunk/block_decoder.h"
#include "codec/chunk/chunk_reader.h"
#include "codec/core/units.h"
#include "codec/frame/frame_reader.h"

namespace framefs::test {
namespace {

using codec::BlockDecoder;
using codec::BlockIndex;
using codec::ByteSource;
using codec::Chunk;
using codec::ChunkBody;
using codec::ChunkReader;
using codec::Result;
using codec::Status;
using Bytes = std::vector<std::byte>;

// Short and long ranges are equally likely, so that both ends of a block are covered.
codec::ByteRange random_range(std::uint64_t size, std::mt19937& random) {
  const std::uint64_t offset = random() % size;
  const std::uint64_t most = random() % 2 == 0 ? 16 : size;
  return {offset, random() % std::min(most, size - offset) + 1};
}

Result<Bytes> decode_block(const ByteSource& source, const Chunk& chunk, BlockIndex block,
                           std::span<const std::byte> first_block) {
  BlockDecoder decoder;
  FRAMEFS_TRY(const auto range, chunk.stored_range(block));
  Bytes stored(range.size);
  FRAMEFS_CHECK(source.read_at(range.offset, stored));
  Bytes out(chunk.block_range(block).size);
  FRAMEFS_CHECK(decoder.decode(chunk, block, stored, out, first_block));
  return out;
}

template <class ReadFunction>
bool all_agree(std::span<const std::byte> whole, std::mt19937& random, int reads,
               const ReadFunction& read) {
  if (whole.empty()) return true;
  for (int i = 0; i < reads; ++i) {
    const auto range = random_range(whole.size(), random);
    Bytes piece(range.size);
    if (!read(range.offset, piece)) return false;
    if (!std::ranges::equal(piece, whole.subspan(range.offset, range.size))) return false;
  }
  return true;
}

}  // namespace

Result<Bytes> decode_whole(const ByteSource& source, const Chunk& chunk) {
  Bytes out(chunk.nbytes());
  FRAMEFS_CHECK(ChunkReader(source, chunk).read(0, out));
  return out;
}

Result<Bytes> decode_by_blocks(const ByteSource& source, const Chunk& chunk) {
  Bytes all;
  if (chunk.body() != ChunkBody::blocks) {
    constexpr std::size_t kPiece = 1000;
    ChunkReader reader(source, chunk);
    for (std::size_t at = 0; at < chunk.nbytes(); at += kPiece) {
      Bytes piece(std::min<std::size_t>(kPiece, chunk.nbytes() - at));
      FRAMEFS_CHECK(reader.read(at, piece));
      all.insert(all.end(), piece.begin(), piece.end());
    }
    return all;
  }
  Bytes first_block;
  for (BlockIndex block; block.value < chunk.block_count(); ++block.value) {
    const bool beside_first = block.value > 0 && chunk.needs_first_block();
    FRAMEFS_TRY(const Bytes plain,
                decode_block(source, chunk, block,
                             beside_first ? std::span<const std::byte>(first_block)
                                          : std::span<const std::byte>{}));
    if (block.value == 0) first_block = plain;
    all.insert(all.end(), plain.begin(), plain.end());
  }
  return all;
}

bool subranges_agree(const ByteSource& source, const Chunk& chunk, std::span<const std::byte> whole,
                     std::mt19937& random, int reads) {
  ChunkReader reader(source, chunk);
  return all_agree(whole, random, reads, [&](std::uint64_t offset, std::span<std::byte> out) {
    return reader.read(offset, out).has_value();
  });
}

bool parts_agree(const ByteSource& source, const Chunk& chunk, std::span<const std::byte> whole,
                 std::mt19937& random, int count) {
  if (chunk.body() != ChunkBody::blocks) return true;
  for (int i = 0; i < count; ++i) {
    const BlockIndex block{random() % chunk.block_count()};
    const auto range = chunk.block_range(block);
    if (range.size == 0) continue;
    const auto at = random() % range.size;
    const codec::ByteRange part{at, 1 + random() % (range.size - at)};
    if (!codec::BlockDecoder::has_parts(chunk)) continue;
    const auto where = chunk.stored_range(block);
    if (!where) return false;
    Bytes stored(where->size);
    Bytes out(range.size);
    if (!source.read_at(where->offset, stored) ||
        !codec::BlockDecoder().decode_part(chunk, block, stored, out, part) ||
        !std::ranges::equal(std::span<const std::byte>(out).subspan(part.offset, part.size),
                            whole.subspan(range.offset + part.offset, part.size))) {
      return false;
    }
  }
  return true;
}

bool subranges_agree(const ByteSource& source, const ByteSource& chunks, const codec::Frame& frame,
                     const codec::Limits& limits, std::span<const std::byte> whole,
                     std::mt19937& random, int reads) {
  codec::FrameReader reader(source, chunks, frame, limits);
  return all_agree(whole, random, reads, [&](std::uint64_t offset, std::span<std::byte> out) {
    return reader.read(offset, out).has_value();
  });
}

}  // namespace framefs::test

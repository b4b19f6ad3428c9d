#include "tests/support/decode_oracle.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "codec/chunk/block_decoder.h"
#include "codec/chunk/chunk_reader.h"
#include "codec/core/units.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/bytes.h"
#include "tests/support/chunk_builder.h"

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

// Short and long ranges are equally likely, so that both ends of a block are covered.
codec::ByteRange random_range(std::uint64_t size, std::mt19937& random) {
  const std::uint64_t offset = random() % size;
  const std::uint64_t most = random() % 2 == 0 ? 16 : size;
  return {offset, random() % std::min(most, size - offset) + 1};
}

Codec codec_of(const Chunk& chunk) {
  const auto format = chunk.header().codec;
  if (format == codec::CodecFormat::blosclz) return Codec::blosclz;
  if (format == codec::CodecFormat::snappy) return Codec::snappy;
  if (format == codec::CodecFormat::zlib) return Codec::zlib;
  if (format == codec::CodecFormat::zstd) return Codec::zstd;
  return Codec::lz4;
}

// Another file, which a thread decodes before the chunk under test: one byte, repeated.
class OldFile {
 public:
  // The file has the codec of `chunk`, and one block that is at least as large as its blocks.
  OldFile(const Chunk& chunk, std::byte old) : old_(old) {
    constexpr std::uint32_t kTypesize = 4;
    constexpr std::uint32_t kMinBytes = 256;  // smaller blocks may not compress
    ChunkSpec spec;
    spec.codec = codec_of(chunk);
    spec.typesize = kTypesize;
    spec.filters = {Filter::shuffle};
    spec.token_runs = false;
    const auto& header = chunk.header();
    const std::size_t most = header.vl_blocks ? header.nbytes : header.blocksize;
    const std::size_t size = std::max<std::size_t>(most, kMinBytes);
    bytes_ = build_chunk(Bytes(size / kTypesize * kTypesize + kTypesize, old), spec);
  }

  [[nodiscard]] std::byte old() const noexcept { return old_; }

  // Returns a decoder that has decoded the file.  Its scratch memory holds the old byte everywhere.
  [[nodiscard]] Result<BlockDecoder> used_decoder() const {
    const codec::MemorySource source(bytes_);
    FRAMEFS_TRY(const auto chunk, Chunk::open(source, 0, bytes_.size(), {}, codec::Limits{}));
    FRAMEFS_TRY(const auto where, chunk.stored_range({0}));
    const auto stored = std::span(bytes_).subspan(where.offset, where.size);
    Bytes out(chunk.nbytes());
    BlockDecoder decoder;
    FRAMEFS_CHECK(decoder.decode(chunk, {0}, stored, out, {}));
    return decoder;
  }

 private:
  std::byte old_;
  Bytes bytes_;
};

class OldFiles {
 public:
  explicit OldFiles(const Chunk& chunk)
      : files_{OldFile(chunk, std::byte{0x55}), OldFile(chunk, std::byte{0xaa})} {}

  // Calls decode(decoder, out) once after each file; `out` has `size` bytes.  Returns the bytes
  // `part` of `out`.
  template <class Decode>
  [[nodiscard]] Result<Bytes> decode_after_each(std::size_t size, codec::ByteRange part,
                                                const Decode& decode) const {
    std::array<Result<Bytes>, 2> results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      FRAMEFS_TRY(auto decoder, files_[i].used_decoder());
      Bytes out(size, files_[i].old());
      const Status decoded = decode(decoder, std::span(out));
      if (decoded) {
        const auto bytes = std::span(out).subspan(part.offset, part.size);
        results[i] = Bytes(bytes.begin(), bytes.end());
      } else {
        results[i] = std::unexpected(decoded.error());
      }
    }
    const auto& [once, again] = results;
    if (once.has_value() != again.has_value() || (once && *once != *again)) {
      return codec::fail(codec::Errc::internal, "old bytes");
    }
    return once;
  }

 private:
  std::array<OldFile, 2> files_;
};

Result<Bytes> read_stored(const ByteSource& source, const Chunk& chunk, BlockIndex block) {
  FRAMEFS_TRY(const auto range, chunk.stored_range(block));
  Bytes stored(range.size);
  FRAMEFS_CHECK(source.read_at(range.offset, stored));
  return stored;
}

Result<Bytes> decode_block(const ByteSource& source, const Chunk& chunk, BlockIndex block,
                           std::span<const std::byte> first_block, const OldFiles& old_files) {
  FRAMEFS_TRY(const auto stored, read_stored(source, chunk, block));
  const std::size_t size = chunk.block_range(block).size;
  return old_files.decode_after_each(
      size, {0, size}, [&](BlockDecoder& decoder, std::span<std::byte> out) {
        return decoder.decode(chunk, block, stored, out, first_block);
      });
}

Result<Bytes> decode_part(const ByteSource& source, const Chunk& chunk, BlockIndex block,
                          codec::ByteRange part, const OldFiles& old_files) {
  FRAMEFS_TRY(const auto stored, read_stored(source, chunk, block));
  return old_files.decode_after_each(chunk.block_range(block).size, part,
                                     [&](BlockDecoder& decoder, std::span<std::byte> out) {
                                       return decoder.decode_part(chunk, block, stored, out, part);
                                     });
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
  const OldFiles old_files(chunk);
  Bytes first_block;
  for (BlockIndex block; block.value < chunk.block_count(); ++block.value) {
    const bool beside_first = block.value > 0 && chunk.needs_first_block();
    FRAMEFS_TRY(const Bytes plain,
                decode_block(source, chunk, block,
                             beside_first ? std::span<const std::byte>(first_block)
                                          : std::span<const std::byte>{},
                             old_files));
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
  if (chunk.body() != ChunkBody::blocks || !BlockDecoder::has_parts(chunk)) return true;
  const OldFiles old_files(chunk);
  for (int i = 0; i < count; ++i) {
    const BlockIndex block{random() % chunk.block_count()};
    const auto range = chunk.block_range(block);
    if (range.size == 0) continue;
    const auto at = random() % range.size;
    const codec::ByteRange part{at, 1 + random() % (range.size - at)};
    const auto bytes = decode_part(source, chunk, block, part, old_files);
    if (!bytes) {
      if (bytes.error().kind == codec::Errc::internal || !whole.empty()) return false;
      continue;
    }
    if (whole.empty()) continue;
    const auto expected = whole.subspan(range.offset + part.offset, part.size);
    if (!std::ranges::equal(*bytes, expected)) return false;
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

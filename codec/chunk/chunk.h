#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk/chunk_context.h"
#include "codec/chunk/chunk_header.h"
#include "codec/compressor/stream_decoder.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/units.h"

namespace framefs::codec {

// How to get the bytes of a chunk.
enum class ChunkBody : std::uint8_t {
  special,  // computed from a rule: fill()
  plain,    // stored uncompressed, at plain_offset()
  blocks,   // compressed block by block: block_range(), stored_range(), BlockDecoder
};

// One stored chunk: its header, block starts, dictionary and filters, without the data of any
// block.  This is enough to read and decode each block on its own.  Immutable after open(); any
// number of threads may use it.
// Source: chunk format; see codec/FORMAT.md.
class Chunk {
 public:
  // open() first reads this many bytes: the header and, of nearly all chunks, the block starts.
  static constexpr std::size_t kHeadBytes = 1024;

  // Reads the header and the tables of the chunk at `offset` of `source`.  The chunk may take up to
  // `available` bytes.  `context` is the frame's, or the default context for a loose chunk.
  // Errors: truncated, bad_field, unsupported, over_limit, with offsets from the chunk's start;
  // errors of the source, and of spend_work(), because tables and dictionaries are work of the
  // request.  A wrong start of one block fails when that block is decoded, not here.  So does a
  // codec that this build lacks, because some blocks do not need the codec.
  static Result<Chunk> open(const ByteSource& source, std::uint64_t offset, std::uint64_t available,
                            const ChunkContext& context, const Limits& limits);

  // A chunk that is not stored, because the frame's index describes it: zeros, NaNs or
  // uninitialised bytes.
  // Errors: bad_field for NaNs if typesize is neither 4 nor 8.
  static Result<Chunk> make_special(Special special, std::uint32_t nbytes, std::uint32_t typesize);

  // A chunk that has not been stored yet (ChunkBody::plain).  The caller knows where its bytes are.
  static Chunk make_plain(std::uint32_t nbytes);

  [[nodiscard]] const ChunkHeader& header() const noexcept { return header_; }
  [[nodiscard]] std::uint32_t nbytes() const noexcept { return header_.nbytes; }
  [[nodiscard]] ChunkBody body() const noexcept;

  // ChunkBody::special: writes bytes [offset, offset + out.size()) of the chunk.  Uninitialised
  // bytes are written as zeros, so that no old memory content leaks.
  void fill(std::uint64_t offset, std::span<std::byte> out) const;
  // True if the chunk is special and all its bytes are zero.
  [[nodiscard]] bool is_zero() const noexcept {
    return header_.special == Special::zero || header_.special == Special::uninit;
  }

  // ChunkBody::plain: the offset of the bytes in the source.
  [[nodiscard]] std::uint64_t plain_offset() const noexcept {
    return offset_ + header_.header_bytes();
  }

  // ChunkBody::blocks.
  [[nodiscard]] std::uint32_t block_count() const noexcept { return header_.nblocks; }
  // The decoded bytes of a block, as a range of the chunk.
  [[nodiscard]] ByteRange block_range(BlockIndex block) const;
  // The block that holds decoded byte `offset`, which is < nbytes().
  [[nodiscard]] BlockIndex block_at(std::uint64_t offset) const;
  // The stored bytes of a block, as a range of the source.  Never larger than a block can need.
  // Errors: bad_field if the block's start is outside the chunk's block area.
  [[nodiscard]] Result<ByteRange> stored_range(BlockIndex block) const;
  // The number of streams of a block.
  [[nodiscard]] std::uint32_t stream_count(BlockIndex block) const;
  // True if decode() should retry a block as a single stream.  The chunk has a dictionary and no
  // never-split flag: writers before 2.13 did not split such blocks, later writers do.
  [[nodiscard]] bool split_is_ambiguous() const noexcept {
    return header_.has_dict && !header_.dont_split && !header_.vl_blocks;
  }
  [[nodiscard]] const StreamFormat& stream_format() const noexcept { return stream_format_; }
  [[nodiscard]] const FilterPipeline& filters() const noexcept { return filters_; }
  [[nodiscard]] const Dictionary* dictionary() const noexcept {
    return dictionary_ ? &*dictionary_ : nullptr;
  }
  // Decoding a block other than the first also needs the decoded first block.
  [[nodiscard]] bool needs_first_block() const noexcept { return filters_.uses_delta(); }

  // The memory that this object holds, for callers that keep many.  Units: bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  Chunk(const ChunkHeader& header, std::uint64_t offset) : header_(header), offset_(offset) {}

  Status load_value(const ByteSource& source, const Limits& limits);
  Status load_block_tables(const ByteSource& source, std::span<const std::byte> head,
                           const ChunkContext& context, const Limits& limits);
  Status load_dictionary(const ByteSource& source);
  Status load_vl_sizes(const ByteSource& source, const Limits& limits);
  Status set_pattern();

  ChunkHeader header_;
  std::uint64_t offset_ = 0;           // of the chunk in its source
  std::uint32_t blocks_begin_ = 0;     // start of the block area, from the chunk's start
  std::vector<std::byte> pattern_;     // Special::nan, Special::value: the repeated bytes
  std::vector<std::uint32_t> starts_;  // of the blocks, from the chunk's start
  std::vector<std::uint32_t> ends_;    // of the blocks; only if starts_ is not ascending
  // Decoded start of each variable-length block, and the end of the last one.
  std::vector<std::uint32_t> vl_offsets_;
  StreamFormat stream_format_;
  FilterPipeline filters_;
  std::optional<Dictionary> dictionary_;
};

}  // namespace framefs::codec

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

// How the bytes of a chunk come about.
enum class ChunkBody : std::uint8_t {
  special,  // by rule: fill()
  plain,    // stored as they are, at plain_offset()
  blocks,   // compressed block by block: block_range(), stored_range(), BlockDecoder
};

// What is known of one stored chunk before any of its blocks is read: header, block starts,
// dictionary, filters.  Enough to fetch and decode any one block by itself. Immutable after open();
// any number of threads may use it.
// Source: chunk format; see codec/FORMAT.md.
class Chunk {
 public:
  // Reads the header and tables of the chunk at `offset` of `source`, which may take `available`
  // bytes. `context` is the frame's, or the default one for a loose chunk.
  // Errors: truncated, bad_field, unsupported, over_limit, with offsets from the chunk's start;
  // those of the source.  A wrong start of one block, or a codec that this build lacks, is no error
  // here but of decoding a block: not all need the codec.
  static Result<Chunk> open(const ByteSource& source, std::uint64_t offset, std::uint64_t available,
                            const ChunkContext& context, const Limits& limits);

  // A chunk that is not stored at all: zeros, NaNs or uninitialised bytes, as the frame's index
  // says.
  // Errors: bad_field where NaNs are asked for and typesize is neither 4 nor 8.
  static Result<Chunk> make_special(Special special, std::uint32_t nbytes, std::uint32_t typesize);

  // A chunk that is not stored yet: whoever made it knows where its bytes are.  ChunkBody::plain.
  static Chunk make_plain(std::uint32_t nbytes);

  [[nodiscard]] const ChunkHeader& header() const noexcept { return header_; }
  [[nodiscard]] std::uint32_t nbytes() const noexcept { return header_.nbytes; }
  [[nodiscard]] ChunkBody body() const noexcept;

  // ChunkBody::special: writes bytes [offset, offset + out.size()) of the chunk.  Uninitialised
  // ones are zeros: what memory held before is nobody's business.
  void fill(std::uint64_t offset, std::span<std::byte> out) const;
  // True where every byte of the chunk is zero by rule.
  [[nodiscard]] bool is_zero() const noexcept {
    return header_.special == Special::zero || header_.special == Special::uninit;
  }

  // ChunkBody::plain: where in the source the bytes stand.
  [[nodiscard]] std::uint64_t plain_offset() const noexcept {
    return offset_ + header_.header_bytes();
  }

  // ChunkBody::blocks.
  [[nodiscard]] std::uint32_t block_count() const noexcept { return header_.nblocks; }
  // The decoded bytes of a block, within the chunk.
  [[nodiscard]] ByteRange block_range(BlockIndex block) const;
  // The block that holds decoded byte `offset`, which is < nbytes().
  [[nodiscard]] BlockIndex block_at(std::uint64_t offset) const;
  // The stored bytes of a block, within the source; never more than a block can need.
  // Errors: bad_field where the block's start is not inside the chunk's block area.
  [[nodiscard]] Result<ByteRange> stored_range(BlockIndex block) const;
  // Into how many streams a block was split.
  [[nodiscard]] std::uint32_t stream_count(BlockIndex block) const;
  // A chunk with a dictionary and without the never-split flag: writers before 2.13 did not split
  // those, later ones do.  True where the other reading is worth a second try.
  [[nodiscard]] bool split_is_ambiguous() const noexcept {
    return header_.has_dict && !header_.dont_split && !header_.vl_blocks;
  }
  [[nodiscard]] const StreamFormat& stream_format() const noexcept { return stream_format_; }
  [[nodiscard]] const FilterPipeline& filters() const noexcept { return *filters_; }
  [[nodiscard]] const Dictionary* dictionary() const noexcept {
    return dictionary_ ? &*dictionary_ : nullptr;
  }
  // Decoding any block but the first needs the decoded first block beside it.
  [[nodiscard]] bool needs_first_block() const noexcept { return filters_->uses_delta(); }

  // What this object holds, for whoever keeps many.  Units: bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  Chunk(const ChunkHeader& header, std::uint64_t offset) : header_(header), offset_(offset) {}

  Status load_value(const ByteSource& source, const Limits& limits);
  Status load_block_tables(const ByteSource& source, std::span<const std::byte> head,
                           const ChunkContext& context, const Limits& limits);
  Status load_dictionary(const ByteSource& source);
  Status load_vl_sizes(const ByteSource& source, const Limits& limits);
  Status set_pattern();
  void index_unordered_starts();

  ChunkHeader header_;
  std::uint64_t offset_ = 0;           // of the chunk in its source
  std::uint32_t blocks_begin_ = 0;     // where the block area starts, from the chunk's start
  std::vector<std::byte> pattern_;     // Special::nan, Special::value: what repeats
  std::vector<std::uint32_t> starts_;  // of the blocks, from the chunk's start
  std::vector<std::uint32_t> ends_;    // likewise; only where starts_ is not ascending
  std::vector<std::uint32_t>
      vl_offsets_;  // decoded start of each variable-length block, and the end
  StreamFormat stream_format_;
  std::optional<FilterPipeline> filters_;
  std::optional<Dictionary> dictionary_;
};

}  // namespace framefs::codec

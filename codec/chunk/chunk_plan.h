#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_header.h"
#include "codec/chunk/encode_params.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/core/units.h"
#include "codec/filter/forward_pipeline.h"

namespace framefs::codec {

// The form in which a chunk will be stored.
enum class ChunkOutcome : std::uint8_t {
  zeros,   // not stored: the index has a code for zeros
  value,   // one item, repeated
  plain,   // uncompressed
  blocks,  // encoded block by block; uncompressed if the result is not smaller
};

// All decisions about one chunk that are made before its blocks are encoded.  A caller that encodes
// blocks in parallel takes these steps:
//
//   1. make() the plan;
//   2. if outcome() is `blocks`, call BlockEncoder::encode() for each block, in any thread;
//   3. assemble() the chunk.
//
// ChunkEncoder does the same serially.  The result depends only on the parameters and the bytes.
// Immutable after make(); any number of threads may use it.
// Source: chunk format, "Encoding"; see codec/FORMAT.md.
class ChunkPlan {
 public:
  // Errors: errors of check_params(); over_limit if the chunk is too large; system, if memory runs
  // out.
  static Result<ChunkPlan> make(const EncodeParams& params, std::span<const std::byte> plain);

  // A plan for a chunk whose outcome is `blocks`, whatever its bytes are.
  // Errors: as make(); bad_field for parameters that need all bytes, or too few bytes for blocks.
  static Result<ChunkPlan> make_blocks(const EncodeParams& params, std::uint32_t nbytes);

  // A plan for the next version of `stored`, in which some blocks keep their encoded bytes.  The
  // outcome is `blocks`, whatever the bytes are.  Nothing if no block of `stored` can be kept: the
  // chunk was encoded with other parameters, or its blocks depend on each other.
  // Errors: as make().
  static Result<std::optional<ChunkPlan>> make_update(const EncodeParams& params,
                                                      std::uint32_t nbytes, const Chunk& stored);
  // Whether a block takes the same range of the chunk in `stored`, so that its encoded bytes fit.
  [[nodiscard]] bool fits(BlockIndex block, const Chunk& stored) const noexcept;

  // Enough room for any chunk of `nbytes`.
  static constexpr std::size_t max_bytes(std::size_t nbytes) noexcept {
    return nbytes + kExtendedHeaderBytes;
  }

  [[nodiscard]] ChunkOutcome outcome() const noexcept { return outcome_; }
  [[nodiscard]] const EncodeParams& params() const noexcept { return params_; }
  [[nodiscard]] std::uint32_t blocksize() const noexcept { return header_.blocksize; }
  [[nodiscard]] std::uint32_t block_count() const noexcept { return header_.nblocks; }
  // The bytes of a block, as a range of the chunk.
  [[nodiscard]] ByteRange block_range(BlockIndex block) const noexcept;
  // The number of streams of a block.
  [[nodiscard]] std::uint32_t stream_count(BlockIndex block) const noexcept;
  // Enough room for the encoded block.
  [[nodiscard]] std::size_t max_block_bytes(BlockIndex block) const noexcept;
  [[nodiscard]] const ForwardPipeline& filters() const noexcept { return filters_; }
  [[nodiscard]] const EncoderDictionary* dictionary() const noexcept {
    return dictionary_ ? &*dictionary_ : nullptr;
  }

  // The offset of the first block in the chunk, after header, block starts and dictionary.
  [[nodiscard]] std::size_t blocks_begin() const noexcept;
  // Whether a chunk of that size should be stored as blocks rather than uncompressed.
  [[nodiscard]] bool is_worthwhile(std::size_t chunk_bytes) const noexcept {
    return chunk_bytes < max_bytes(header_.nbytes);
  }

  // Writes the chunk to the head of `out`, which has room for max_bytes(), and returns its size, or
  // 0 if outcome() is `zeros`.  `blocks` holds the encoded blocks in order if outcome() is
  // `blocks`.
  [[nodiscard]] std::size_t assemble(std::span<const std::byte> plain,
                                     std::span<const std::span<const std::byte>> blocks,
                                     std::span<std::byte> out) const;

  // The second half of assemble(), for blocks that are already in place, one after the other from
  // blocks_begin().  `ends` holds the end offset of each block in the chunk.
  [[nodiscard]] std::size_t finish_blocks(std::span<const std::uint32_t> ends,
                                          std::span<std::byte> out) const;
  // Writes the chunk uncompressed.
  [[nodiscard]] std::size_t write_plain(std::span<const std::byte> plain,
                                        std::span<std::byte> out) const;

 private:
  ChunkPlan() = default;
  static Result<ChunkPlan> make_header(const EncodeParams& params, std::size_t nbytes);
  void choose_params(std::span<const std::byte> plain);
  Status train(std::span<const std::byte> plain);
  [[nodiscard]] std::size_t write_value(std::span<const std::byte> plain,
                                        std::span<std::byte> out) const;

  EncodeParams params_;
  ChunkOutcome outcome_ = ChunkOutcome::plain;
  ChunkHeader header_;  // without cbytes
  ForwardPipeline filters_;
  std::optional<EncoderDictionary> dictionary_;
};

}  // namespace framefs::codec

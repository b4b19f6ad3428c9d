#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codec/chunk/chunk_header.h"
#include "codec/chunk/encode_params.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/core/units.h"
#include "codec/filter/forward_pipeline.h"

namespace framefs::codec {

// What a chunk of plain bytes is going to be.
enum class ChunkOutcome : std::uint8_t {
  zeros,   // nothing to store: an index code says it all
  value,   // one item, repeated
  plain,   // the bytes as they are
  blocks,  // encoded block by block; or plain after all, where that turns out no smaller
};

// All that is settled about one chunk to be written before any of its blocks is encoded.  The steps
// of encoding a chunk, for callers that encode blocks in parallel:
//
//   1. make() the plan;
//   2. where outcome() is `blocks`, for each of them BlockEncoder::encode(), in any thread and order;
//   3. assemble() the chunk.
//
// ChunkEncoder does the same serially.  What comes out depends on parameters and bytes alone.
// Immutable after make(); any number of threads may use it.
// Source: chunk format, "Encoding"; see codec/FORMAT.md.
class ChunkPlan {
 public:
  // Errors: those of check_params(); over_limit where a chunk cannot be so large; system, where there
  // is no memory.
  static Result<ChunkPlan> make(const EncodeParams& params, std::span<const std::byte> plain);

  // Room that suffices for any chunk of `nbytes`.
  static constexpr std::size_t max_bytes(std::size_t nbytes) noexcept {
    return nbytes + kExtendedHeaderBytes;
  }

  [[nodiscard]] ChunkOutcome outcome() const noexcept { return outcome_; }
  [[nodiscard]] const EncodeParams& params() const noexcept { return params_; }
  [[nodiscard]] std::uint32_t blocksize() const noexcept { return header_.blocksize; }
  [[nodiscard]] std::uint32_t block_count() const noexcept { return header_.nblocks; }
  // The bytes of a block within the chunk's.
  [[nodiscard]] ByteRange block_range(BlockIndex block) const noexcept;
  // Into how many streams a block is split.
  [[nodiscard]] std::uint32_t stream_count(BlockIndex block) const noexcept;
  // Room that suffices for that block, encoded.
  [[nodiscard]] std::size_t max_block_bytes(BlockIndex block) const noexcept;
  [[nodiscard]] const ForwardPipeline& filters() const noexcept { return filters_; }
  [[nodiscard]] const EncoderDictionary* dictionary() const noexcept {
    return dictionary_ ? &*dictionary_ : nullptr;
  }

  // Where in the chunk the first block goes: after header, block starts and dictionary.
  [[nodiscard]] std::size_t blocks_begin() const noexcept;
  // Whether a chunk of that size is worth storing as blocks, rather than as plain bytes.
  [[nodiscard]] bool is_worthwhile(std::size_t chunk_bytes) const noexcept {
    return chunk_bytes < max_bytes(header_.nbytes);
  }

  // Writes the chunk to the head of `out`, which has room for max_bytes(), and returns its size; 0
  // where outcome() is `zeros`.  `blocks` are the encoded blocks in order, of ChunkOutcome::blocks.
  [[nodiscard]] std::size_t assemble(std::span<const std::byte> plain,
                                     std::span<const std::span<const std::byte>> blocks,
                                     std::span<std::byte> out) const;

  // The parts of assemble(), for blocks that are in their place already, one after the other from
  // blocks_begin() on: `ends` says where in the chunk each one ends.
  [[nodiscard]] std::size_t finish_blocks(std::span<const std::uint32_t> ends,
                                          std::span<std::byte> out) const;
  // The chunk as plain bytes.
  [[nodiscard]] std::size_t write_plain(std::span<const std::byte> plain,
                                        std::span<std::byte> out) const;

 private:
  ChunkPlan() = default;
  void choose_params(std::span<const std::byte> plain);
  Status train(std::span<const std::byte> plain);
  [[nodiscard]] std::size_t write_value(std::span<const std::byte> plain,
                                        std::span<std::byte> out) const;

  EncodeParams params_;
  ChunkOutcome outcome_ = ChunkOutcome::plain;
  ChunkHeader header_;  // but for cbytes
  ForwardPipeline filters_;
  std::optional<EncoderDictionary> dictionary_;
};

}  // namespace framefs::codec

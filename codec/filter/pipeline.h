#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "codec/core/block_shape.h"
#include "codec/core/result.h"
#include "codec/core/units.h"
#include "codec/filter/bitshuffle.h"

namespace framefs::codec {

// One of a chunk's six filter slots: which filter, and its parameter.
struct FilterSlot {
  std::uint8_t id = 0;
  std::uint8_t meta = 0;
};
using FilterSlots = std::array<FilterSlot, 6>;

// What the filters need to know beside their slots.
struct PipelineShape {
  std::uint32_t typesize = 1;         // the chunk header's byte, 1..255
  std::uint32_t schunk_typesize = 1;  // the frame's, which may be above 255
  BitshuffleTail bitshuffle_tail = BitshuffleTail::copy_partial_group;
  std::optional<BlockShape> block_shape = std::nullopt;  // of the frame's array, where it is one
};

// The filters of one chunk, checked and in the order in which to undo them.
// Threads: any, once made.  Source: chunk format, filters; codec/FORMAT.md, "Filters".
class FilterPipeline {
 public:
  // Errors: unsupported for a filter this build lacks, bad_field for an id the format reserves;
  // both named by the field, with the id as `value`, the slot's place in the chunk header as `at`.
  // bad_field "typesize" where a typesize is 0; bad_field for filters that work on an array's
  // blocks where there is no array, or none they can be for.
  static Result<FilterPipeline> make(const FilterSlots& slots, const PipelineShape& shape);

  // Nothing is to be undone.
  [[nodiscard]] bool is_identity() const noexcept { return size_ == 0; }

  // decode() of a block other than the first needs the first, decoded.
  [[nodiscard]] bool uses_delta() const noexcept { return uses_delta_; }

  // input() and decode() need a scratch buffer, of at least the block's size.
  [[nodiscard]] bool needs_scratch() const noexcept { return moves_ > 0; }

  // Whether blocks of so many bytes can be undone.  Errors: bad_field, "block size of a cell
  // filter", for ndcell and ndmean, which know only whole blocks of the array.
  [[nodiscard]] Status check_block(std::size_t block_bytes) const;

  // Where the filtered block must be put before decode(): `out` itself or the head of `scratch`,
  // such that the last filter's result lands in `out` without a copy.
  [[nodiscard]] std::span<std::byte> input(std::span<std::byte> out,
                                           std::span<std::byte> scratch) const;

  // Undoes the filters of one block, of a size that check_block() takes, whose filtered bytes are in input(out, scratch), into `out`.
  // `scratch` is overwritten.  `block0` is the chunk's first block, decoded; it is empty for that
  // block itself, and not looked at unless uses_delta().  None of the three overlap.
  void decode(std::span<std::byte> out, std::span<std::byte> scratch,
              std::span<const std::byte> block0) const;

  // The two steps to bytes `part` of a block alone, where not uses_delta().  Of each of `count` equal
  // streams that make up a filtered block of `block_bytes`, they need the bytes before this one:
  [[nodiscard]] std::size_t needed_prefix(ByteRange part, std::size_t block_bytes,
                                          std::size_t count, std::size_t stream) const;
  // Then this is decode() for `part`, which lies in the block; the rest of `out` is unspecified.
  void decode_part(std::span<std::byte> out, std::span<std::byte> scratch, ByteRange part) const;

 private:
  enum class Pass : std::uint8_t {
    unshuffle,
    bitunshuffle,
    undelta,
    unbytedelta,
    unbytedelta_anew,
    unndcell
  };
  struct Step {
    Pass pass = Pass::unshuffle;
    std::uint32_t width = 1;  // bytes of an element, as the pass sees it; items of a cell's side
  };

  FilterPipeline() = default;
  [[nodiscard]] std::uint32_t plane_width() const noexcept;
  void add(Pass pass, std::uint32_t width);
  Status add_cells(const FilterSlot& slot, std::uint64_t slot_number, const PipelineShape& shape);

  std::array<Step, std::tuple_size_v<FilterSlots>> steps_ = {};  // in decode order
  std::size_t size_ = 0;
  std::size_t moves_ = 0;  // steps that go from one buffer to the other
  bool uses_delta_ = false;
  BitshuffleTail bitshuffle_tail_ = BitshuffleTail::copy_partial_group;
  // Of the passes that know the array; no bytes where there are none.
  BlockShape block_shape_;
  std::uint32_t item_bytes_ = 0;
  std::uint64_t array_block_bytes_ = 0;
};

}  // namespace framefs::codec

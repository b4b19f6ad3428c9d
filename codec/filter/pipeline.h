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

// One of a chunk's six filter slots: the id of a filter and its parameter.
struct FilterSlot {
  std::uint8_t id = 0;
  std::uint8_t meta = 0;
  bool operator==(const FilterSlot&) const = default;
};
using FilterSlots = std::array<FilterSlot, 6>;

// The properties that filters need besides their slots.
struct PipelineShape {
  std::uint32_t typesize = 1;         // from the chunk header, 1..255
  std::uint32_t schunk_typesize = 1;  // from the frame; may be above 255
  BitshuffleTail bitshuffle_tail = BitshuffleTail::copy_partial_group;
  std::optional<BlockShape> block_shape = std::nullopt;  // of the frame's array, if there is one
};

// The filters of one chunk, checked and in the order in which they are reversed.
// Immutable after make(); any number of threads may use it.  Source: chunk format, filters;
// codec/FORMAT.md, "Filters".
class FilterPipeline {
 public:
  // No filters.
  FilterPipeline() = default;
  // Errors: unsupported for a filter that this build lacks, bad_field for an id that the format
  // reserves; in both, the field names the filter, `value` is its id, and `at` is the slot's offset
  // in the chunk header.  bad_field "typesize" if a typesize is 0.  bad_field for a filter on an
  // array's blocks if there is no array or the filter does not suit it.
  static Result<FilterPipeline> make(const FilterSlots& slots, const PipelineShape& shape);

  // Whether there are no filters to reverse.
  [[nodiscard]] bool is_identity() const noexcept { return size_ == 0; }

  // Whether decode() of a block other than the first needs the decoded first block.
  [[nodiscard]] bool uses_delta() const noexcept { return uses_delta_; }

  // Whether input() and decode() need a scratch buffer.  It must have at least the block's size.
  [[nodiscard]] bool needs_scratch() const noexcept { return moves_ > 0; }

  // Checks that blocks of this size can be decoded.  Errors: bad_field, "block size of a cell
  // filter", for ndcell and ndmean, which support only whole blocks of the array.
  [[nodiscard]] Status check_block(std::size_t block_bytes) const;

  // The buffer for the filtered block, to be filled before decode(): `out` or the head of
  // `scratch`.  The choice makes the result of the last filter land in `out` without a copy.
  [[nodiscard]] std::span<std::byte> input(std::span<std::byte> out,
                                           std::span<std::byte> scratch) const;

  // Reverses the filters of one block and puts the result in `out`.  The filtered bytes are in
  // input(out, scratch), and check_block() accepts their number.  `scratch` is overwritten.
  // `block0` is the decoded first block of the chunk.  It is used only if uses_delta(), and is
  // empty for the first block itself.  The three buffers do not overlap.
  void decode(std::span<std::byte> out, std::span<std::byte> scratch,
              std::span<const std::byte> block0) const;

  // The two steps to decode only the bytes `part` of a block.  Not available if uses_delta().
  //
  // Step 1: a filtered block of `block_bytes` consists of `count` equal streams.  This is the
  // number of bytes that decode_part() needs from the beginning of stream `stream`.
  [[nodiscard]] std::size_t needed_prefix(ByteRange part, std::size_t block_bytes,
                                          std::size_t count, std::size_t stream) const;
  // Step 2: decode() for `part`, a range of the block.  Other bytes of `out` are undefined.
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
    std::uint32_t width = 1;  // bytes of an element, or items of a cell's side
  };

  [[nodiscard]] std::uint32_t plane_width() const noexcept;
  void add(Pass pass, std::uint32_t width);
  Status add_cells(const FilterSlot& slot, std::uint64_t slot_number, const PipelineShape& shape);

  std::array<Step, std::tuple_size_v<FilterSlots>> steps_ = {};  // in decode order
  std::size_t size_ = 0;
  std::size_t moves_ = 0;  // steps that move the data to the other buffer
  bool uses_delta_ = false;
  BitshuffleTail bitshuffle_tail_ = BitshuffleTail::copy_partial_group;
  // For the passes that depend on the array; 0 if there are none.
  BlockShape block_shape_;
  std::uint32_t item_bytes_ = 0;
  std::uint64_t array_block_bytes_ = 0;
};

}  // namespace framefs::codec

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "codec/core/result.h"
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
};

// The filters of one chunk, checked and in the order in which to undo them.
// Threads: any, once made.  Source: chunk format, filters; codec/FORMAT.md, "Filters".
class FilterPipeline {
 public:
  // Errors: unsupported for a filter this build lacks, bad_field for an id the format reserves;
  // both with field "filter", the id as `value`, the slot's place in the chunk header as `at`.
  // bad_field "typesize" where a typesize is 0.
  static Result<FilterPipeline> make(const FilterSlots& slots, const PipelineShape& shape);

  // Nothing is to be undone.
  [[nodiscard]] bool is_identity() const noexcept { return size_ == 0; }

  // decode() of a block other than the first needs the first, decoded.
  [[nodiscard]] bool uses_delta() const noexcept { return uses_delta_; }

  // input() and decode() need a scratch buffer, of at least the block's size.
  [[nodiscard]] bool needs_scratch() const noexcept { return moves_ > 0; }

  // Where the filtered block must be put before decode(): `out` itself or the head of `scratch`,
  // such that the last filter's result lands in `out` without a copy.
  [[nodiscard]] std::span<std::byte> input(std::span<std::byte> out,
                                           std::span<std::byte> scratch) const;

  // Undoes the filters of one block, whose filtered bytes are in input(out, scratch), into `out`.
  // `scratch` is overwritten.  `block0` is the chunk's first block, decoded; it is empty for that
  // block itself, and not looked at unless uses_delta().  None of the three overlap.
  void decode(std::span<std::byte> out, std::span<std::byte> scratch,
              std::span<const std::byte> block0) const;

 private:
  enum class Pass : std::uint8_t {
    unshuffle,
    bitunshuffle,
    undelta,
    unbytedelta,
    unbytedelta_anew
  };
  struct Step {
    Pass pass = Pass::unshuffle;
    std::uint32_t width = 1;  // bytes of an element, as the pass sees it
  };

  FilterPipeline() = default;
  void add(Pass pass, std::uint32_t width);

  std::array<Step, std::tuple_size_v<FilterSlots>> steps_ = {};  // in decode order
  std::size_t size_ = 0;
  std::size_t moves_ = 0;  // steps that go from one buffer to the other
  bool uses_delta_ = false;
  BitshuffleTail bitshuffle_tail_ = BitshuffleTail::copy_partial_group;
};

}  // namespace framefs::codec

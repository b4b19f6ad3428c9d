#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "codec/core/result.h"
#include "codec/filter/pipeline.h"

namespace framefs::codec {

// The filters of a chunk to be written, checked and in the order in which to run them: what
// FilterPipeline undoes.
// Threads: any, once made.  Source: chunk format, filters; codec/FORMAT.md, "Filters".
class ForwardPipeline {
 public:
  // No filters at all.
  ForwardPipeline() = default;

  // Errors: unsupported, "filter", with the id as the value, for what we do not write: delta, which
  //   the reference library reads wrongly in part, bytedelta's first edition, and what this build
  //   lacks; bad_field for an id the format reserves, and for parameters the filter has not; `at` is
  //   the slot's place in the chunk header.
  static Result<ForwardPipeline> make(const FilterSlots& slots, const PipelineShape& shape);

  [[nodiscard]] bool is_identity() const noexcept { return size_ == 0; }

  // Runs the filters over `block` and returns where the result is: `block` itself where the
  // pipeline is the identity, else the head of `first` or of `second`.  Both have at least the
  // block's size; none of the three overlap.
  [[nodiscard]] std::span<const std::byte> encode(std::span<const std::byte> block,
                                                  std::span<std::byte> first,
                                                  std::span<std::byte> second) const;

 private:
  enum class Pass : std::uint8_t { shuffle, bitshuffle, bytedelta, clear_bits };
  struct Step {
    Pass pass = Pass::shuffle;
    std::uint32_t width = 1;  // bytes of an element, as the pass sees it
    unsigned bits = 0;        // for clear_bits
  };

  Status add(FilterSlot slot, const PipelineShape& shape);

  std::array<Step, std::tuple_size_v<FilterSlots>> steps_ = {};
  std::size_t size_ = 0;
};

}  // namespace framefs::codec

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "codec/core/result.h"
#include "codec/filter/pipeline.h"

namespace framefs::codec {

// The filters of a chunk to be written, checked and in the order in which they run.  The inverse of
// FilterPipeline.
// Immutable after make(); any number of threads may use it.  Source: chunk format, filters;
// codec/FORMAT.md, "Filters".
class ForwardPipeline {
 public:
  // A pipeline without filters.
  ForwardPipeline() = default;

  // Errors: unsupported, "filter", with the id as the value, for a filter that framefs does not
  // write: delta, which the reference library sometimes reads wrongly; the first version of
  // bytedelta; filters that this build lacks.  bad_field for an id that the format reserves, or a
  // wrong parameter.  `at` is the slot's offset in the chunk header.
  static Result<ForwardPipeline> make(const FilterSlots& slots, const PipelineShape& shape);

  [[nodiscard]] bool is_identity() const noexcept { return size_ == 0; }

  // Applies the filters to `block` and returns the result: `block` itself if the pipeline is the
  // identity, else the head of `first` or `second`.  Both buffers have at least the block's size.
  // The three buffers do not overlap.
  [[nodiscard]] std::span<const std::byte> encode(std::span<const std::byte> block,
                                                  std::span<std::byte> first,
                                                  std::span<std::byte> second) const;

 private:
  enum class Pass : std::uint8_t { shuffle, bitshuffle, bytedelta, clear_bits };
  struct Step {
    Pass pass = Pass::shuffle;
    std::uint32_t width = 1;  // bytes of an element in this pass
    unsigned bits = 0;        // for clear_bits
  };

  Status add(FilterSlot slot, const PipelineShape& shape);

  std::array<Step, std::tuple_size_v<FilterSlots>> steps_ = {};
  std::size_t size_ = 0;
};

}  // namespace framefs::codec

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "codec/array/array_layout.h"

namespace framefs::fs {

// Where the blocks of an array in C order begin and end in its file.  Along an axis, the file is a
// sequence of bands: the bytes of one band lie in the same blocks along that axis.
// Immutable; any number of threads may use it.
class ArrayGrid {
 public:
  struct Axis {
    std::uint64_t step_bytes = 0;    // between neighbours along the axis
    std::uint64_t band_bytes = 0;    // of the steps of a block
    std::uint64_t extent_bytes = 0;  // of all steps
  };

  // A file that is no array.
  ArrayGrid() = default;
  // The bytes of the array begin at `begin` in the file.
  ArrayGrid(std::uint64_t begin, std::vector<Axis> axes) : begin_(begin), axes_(std::move(axes)) {}
  static ArrayGrid of(std::uint64_t begin, const codec::ArrayLayout& layout);

  // Outermost first.
  [[nodiscard]] const std::vector<Axis>& axes() const noexcept { return axes_; }
  // The outermost axis whose steps are at most `distance` bytes apart; null if there is none.
  [[nodiscard]] const Axis* axis_of(std::uint64_t distance) const noexcept;
  // The number of the band that holds byte `offset` of the file.
  [[nodiscard]] std::uint64_t band(const Axis& axis, std::uint64_t offset) const noexcept;
  // The end of the band `ahead` bands behind that of byte `offset`, but not behind the last band of
  // the steps around it.
  [[nodiscard]] std::uint64_t end_of_band(const Axis& axis, std::uint64_t offset,
                                          std::uint64_t ahead) const noexcept;
  // The end of all steps of the axis around byte `offset`.
  [[nodiscard]] std::uint64_t end_of_extent(const Axis& axis, std::uint64_t offset) const noexcept;

 private:
  [[nodiscard]] std::uint64_t within(std::uint64_t offset) const noexcept {
    return offset < begin_ ? 0 : offset - begin_;
  }

  std::uint64_t begin_ = 0;
  std::vector<Axis> axes_;
};

}  // namespace framefs::fs

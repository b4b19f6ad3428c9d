#include "codec/filter/ndcell.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace framefs::codec {
namespace {

// Takes items from one buffer in order and copies them to their places in the other.
class Scatter {
 public:
  Scatter(std::span<const std::uint32_t> shape, std::size_t side, std::size_t item_bytes,
          const std::byte* from, std::byte* to)
      : shape_(shape), side_(side), item_bytes_(item_bytes), from_(from), to_(to) {
    std::size_t stride = item_bytes;
    for (std::size_t dim = shape.size(); dim-- > 0;) {
      stride_[dim] = stride;
      stride *= shape[dim];
    }
  }

  // Copies all cells that differ in `dim` and later dimensions.  `at` is the start of the first
  // one.
  void cells(std::size_t dim, std::size_t at) {
    if (dim == shape_.size()) return rows(0, at);
    for (std::size_t begin = 0; begin < shape_[dim]; begin += side_) {
      extent_[dim] = std::min(side_, shape_[dim] - begin);
      cells(dim + 1, at + begin * stride_[dim]);
    }
  }

 private:
  // Copies all rows of one cell that differ in `dim` and later dimensions.  A row is contiguous in
  // the last dimension.
  void rows(std::size_t dim, std::size_t at) {
    if (dim + 1 == shape_.size()) {
      const std::size_t bytes = extent_[dim] * item_bytes_;
      std::copy_n(from_, bytes, to_ + at);
      from_ += bytes;
      return;
    }
    for (std::size_t i = 0; i < extent_[dim]; ++i) rows(dim + 1, at + i * stride_[dim]);
  }

  const std::span<const std::uint32_t> shape_;  // valid during one call of unndcell()
  const std::size_t side_;
  const std::size_t item_bytes_;
  const std::byte* from_;
  std::byte* const to_;
  std::array<std::size_t, kMaxCellDims> stride_{};  // bytes from one item to the next
  std::array<std::size_t, kMaxCellDims> extent_{};  // of the current cell
};

}  // namespace

void unndcell(std::span<const std::uint32_t> shape, std::uint32_t side, std::size_t item_bytes,
              std::span<const std::byte> from, std::span<std::byte> to) {
  assert(side > 0);
  assert(!shape.empty() && shape.size() <= kMaxCellDims);
  assert(from.size() == to.size());
  Scatter(shape, side, item_bytes, from.data(), to.data()).cells(0, 0);
}

}  // namespace framefs::codec

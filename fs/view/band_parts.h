#pragma once

#include <cstdint>
#include <optional>

#include "codec/array/array_layout.h"
#include "codec/core/units.h"

namespace framefs::fs {

using codec::ByteRange;

// The bands of an array, and their parts.  A band is the set of blocks side by side along the inner
// axes; its bytes are a contiguous range of the array in C order.  A reader in C order needs all
// blocks of a band once for each of their rows.  If the cache has no room for a band, the reader
// gets it in parts of as many whole rows as fit: each block is then decoded once for each part, and
// not once for each row.  Pure arithmetic.
// Lifetime: the layout outlives the object.
class BandParts {
 public:
  // The bytes of the blocks of a band.
  [[nodiscard]] static std::uint64_t band_bytes(const codec::ArrayLayout& layout) noexcept;

  // Parts of at most `part_bytes`.  Nothing if a part would have fewer than two rows: each block
  // would be decoded as often as without parts.
  static std::optional<BandParts> make(const codec::ArrayLayout& layout, std::uint64_t part_bytes);

  // The part that holds byte `offset` of the array, as a range of the array.  offset < nbytes().
  [[nodiscard]] ByteRange part_at(std::uint64_t offset) const noexcept;

 private:
  using Axis = codec::ArrayLayout::Axis;
  BandParts(const Axis& axis, std::uint64_t rows) : axis_(axis), rows_(rows) {}

  Axis axis_;           // whose steps are the rows
  std::uint64_t rows_;  // of a part; the last part of a band may have fewer
};

}  // namespace framefs::fs

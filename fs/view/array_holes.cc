#include "fs/view/array_holes.h"

#include <algorithm>
#include <optional>

namespace framefs::fs {

// Each step skips the largest slab of chunks of one kind.
Result<std::uint64_t> seek_in_array(const FrameChunks& frame, const codec::ArrayLayout& layout,
                                    Seek what, std::uint64_t offset) {
  // After this many chunks, the rest counts as data.
  constexpr std::uint64_t kMaxProbedChunks = 1u << 22;
  const bool wants_hole = what == Seek::hole;
  std::uint64_t looks = 0;
  while (offset < layout.nbytes()) {
    std::optional<codec::ArrayLayout::Slab> uniform;
    bool is_hole = false;
    for (std::size_t level = 0; level < layout.levels() && !uniform; ++level) {
      if (looks >= kMaxProbedChunks) return wants_hole ? layout.nbytes() : offset;
      const auto slab = layout.slab(offset, level);
      const auto begin = slab.first.value;
      const auto probed = std::min(slab.chunk_count, kMaxProbedChunks - looks);
      FRAMEFS_TRY(const auto first_data, frame.find_chunk(false, begin, begin + probed));
      FRAMEFS_TRY(const auto first_hole, frame.find_chunk(true, begin, begin + probed));
      looks += std::max(first_data, first_hole) - begin + 1;
      if (std::max(first_data, first_hole) - begin < slab.chunk_count) continue;
      is_hole = first_data - begin == slab.chunk_count;
      uniform = slab;
    }
    if (!uniform) return wants_hole ? layout.nbytes() : offset;
    if (is_hole == wants_hole) return offset;
    offset = uniform->bytes.offset + uniform->bytes.size;
  }
  return layout.nbytes();
}

}  // namespace framefs::fs

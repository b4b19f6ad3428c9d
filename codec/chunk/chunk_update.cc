#include "codec/chunk/chunk_update.h"

#include <algorithm>
#include <cstdint>

namespace framefs::codec {

Result<std::size_t> assemble_update(const ChunkUpdate& update, const EncodedBlock& encoded,
                                    std::span<std::byte> out) {
  const auto& [plan, stored, source, kept] = update;
  std::size_t at = plan.blocks_begin();
  std::vector<std::uint32_t> ends;
  ends.reserve(plan.block_count());
  // Adjacent kept blocks of the stored chunk are read at once.
  ByteRange run;
  const auto read_run = [&]() -> Status {
    const auto to = out.subspan(at - run.size, run.size);
    run.size = 0;
    return to.empty() ? Status() : source->read_at(run.offset, to);
  };
  for (BlockIndex block; block.value < plan.block_count(); ++block.value) {
    ByteRange place;
    std::span<const std::byte> fresh;
    if (kept[block.value]) {
      FRAMEFS_TRY(place, stored->stored_range(block));
    } else {
      FRAMEFS_TRY(fresh, encoded(block));
      place.size = fresh.size();
    }
    if (!plan.is_worthwhile(at + place.size)) return 0;
    if (!kept[block.value] || place.offset != run.offset + run.size) FRAMEFS_CHECK(read_run());
    if (kept[block.value]) {
      if (run.size == 0) run.offset = place.offset;
      run.size += place.size;
    } else {
      std::ranges::copy(fresh, out.subspan(at).begin());
    }
    at += place.size;
    ends.push_back(static_cast<std::uint32_t>(at));
  }
  FRAMEFS_CHECK(read_run());
  return plan.finish_blocks(ends, out);
}

}  // namespace framefs::codec

#include "codec/frame/frame_array.h"

#include "codec/core/checked.h"

namespace framefs::codec {

Result<ArrayLayout> layout_of(const ArrayMeta& meta, const FrameHeader& header) {
  const std::uint64_t chunksize = header.chunksize;
  return ArrayLayout::make(
      meta, header.typesize,
      {.nbytes = header.nbytes,
       .chunksize = chunksize,
       .chunk_count = chunksize == 0 ? 0 : div_ceil(header.nbytes, chunksize)});
}

}  // namespace framefs::codec

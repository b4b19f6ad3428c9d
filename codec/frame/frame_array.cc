#include "codec/frame/frame_array.h"

#include "codec/core/checked.h"

namespace framefs::codec {

FrameExtent extent_of(const FrameHeader& header) {
  const std::uint64_t chunksize = header.chunksize;
  return {.nbytes = header.nbytes,
          .chunksize = chunksize,
          .chunk_count = chunksize == 0 ? 0 : div_ceil(header.nbytes, chunksize)};
}

}  // namespace framefs::codec

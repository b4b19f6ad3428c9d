#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "codec/core/block_shape.h"

namespace framefs::codec {

// What a chunk must know of the frame it lies in: some filters and codecs of plugins cannot be
// undone without.  A loose chunk has the default one.
struct ChunkContext {
  // The true size of an item, which the chunk's header cannot tell above 255.  0: not known, the
  // header counts.
  std::uint32_t schunk_typesize = 0;
  // Where the frame is an array, of a metalayer that can be read.
  std::optional<BlockShape> block_shape = std::nullopt;
};
static_assert(std::is_trivially_copyable_v<ChunkContext>);

}  // namespace framefs::codec

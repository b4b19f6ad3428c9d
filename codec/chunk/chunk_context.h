#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "codec/core/block_shape.h"

namespace framefs::codec {

// Properties of the frame that its chunks need: some filters and plugin codecs cannot be decoded
// without them.  A loose chunk has the default context.
struct ChunkContext {
  // The true size of an item.  A chunk's header cannot store sizes above 255.  0: unknown; the
  // header's typesize is used.
  std::uint32_t schunk_typesize = 0;
  // Set if the frame is an array with a readable metalayer.
  std::optional<BlockShape> block_shape = std::nullopt;
};
static_assert(std::is_trivially_copyable_v<ChunkContext>);

}  // namespace framefs::codec

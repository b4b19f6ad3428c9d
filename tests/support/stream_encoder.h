#pragma once

#include <cstddef>
#include <span>

#include "tests/support/bytes.h"
#include "tests/support/chunk_builder.h"

namespace framefs::test {

// Compresses one stream with the library of `codec`, which is not Codec::memcpy.  `dictionary` may
// be empty; only lz4, lz4hc and zstd use it.  Returns an empty result if the codec gives up.
Bytes compress_stream(Codec codec, int level, std::span<const std::byte> plain,
                      std::span<const std::byte> dictionary);

}  // namespace framefs::test

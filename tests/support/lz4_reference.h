#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tests/support/bytes.h"

namespace framefs::test {

// Decodes an LZ4 block that fills `size` bytes, with the library.  Returns nothing if the library
// refuses the block, or if the block has a distance of 0.  The library accepts such blocks, and
// their result differs between its functions and releases.  `dictionary` may be empty.
std::optional<Bytes> lz4_reference(std::span<const std::byte> in, std::size_t size,
                                   std::span<const std::byte> dictionary);

}  // namespace framefs::test

#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tests/support/bytes.h"

namespace framefs::test {

// What the library makes of an LZ4 block that fills `size` bytes; nothing where it refuses the block,
// or where the block has a distance of 0.  The library takes those, and what it then gives differs
// between its functions and releases.  `dictionary` may be empty.
std::optional<Bytes> lz4_reference(std::span<const std::byte> in, std::size_t size,
                                   std::span<const std::byte> dictionary);

}  // namespace framefs::test

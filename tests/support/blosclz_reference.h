#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tests/support/bytes.h"

namespace framefs::test {

// What a BloscLZ stream decodes to with room for `capacity` bytes, byte by byte as the format has
// it; nothing where a reader refuses it.  The result may be shorter than the room: whoever knows
// the size compares.  Slow and plain, to be the oracle of the fast one.
// Source: chunk format, BloscLZ streams.
std::optional<Bytes> blosclz_reference(std::span<const std::byte> in, std::size_t capacity);

}  // namespace framefs::test

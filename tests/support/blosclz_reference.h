#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tests/support/bytes.h"

namespace framefs::test {

// Decodes a BloscLZ stream byte by byte, as the format describes it, into at most `capacity` bytes.
// Returns nothing if a reader must refuse the stream.  The result may be shorter than `capacity`; a
// caller that knows the size must compare it.  Slow and simple, because it is the oracle of the
// fast decoder.
// Source: chunk format, BloscLZ streams.
std::optional<Bytes> blosclz_reference(std::span<const std::byte> in, std::size_t capacity);

}  // namespace framefs::test

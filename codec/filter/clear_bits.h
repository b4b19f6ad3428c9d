#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// The two lossy filters.  Each clears the low bits of every item, so that the rest compresses
// better.  They are not reversed.

// The number of bits that TRUNC_PREC and INT_TRUNC clear in an item of `typesize` bytes.  A
// positive parameter is the number of bits to keep (of the mantissa, or of the integer); a negative
// one is the number of bits to clear.
// Errors: bad_field if the filter does not support the typesize, or the item has fewer bits.
// Source: chunk format, filters 4 and 36.
Result<unsigned> trunc_prec_bits(std::uint32_t typesize, std::int8_t parameter);
Result<unsigned> int_trunc_bits(std::uint32_t typesize, std::int8_t parameter);

// Clears the lowest `bits` of every little-endian item, in place.  Bytes that do not fill an item
// stay unchanged.  typesize is 1, 2, 4 or 8; bits <= 8 * typesize.
void clear_low_bits(std::uint32_t typesize, unsigned bits, std::span<std::byte> block);

}  // namespace framefs::codec

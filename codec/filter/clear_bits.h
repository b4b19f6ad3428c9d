#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// The two lossy filters: each clears the low bits of every item, so that the others shorten better.
// Nothing undoes them.

// How many bits TRUNC_PREC and INT_TRUNC clear of an item of `typesize` bytes.  The parameter counts
// bits to keep (of the mantissa; of the integer) or, below zero, bits to clear.
// Errors: bad_field where the filter is not for that size, or the item has not so many bits.
// Source: chunk format, filters 4 and 36.
Result<unsigned> trunc_prec_bits(std::uint32_t typesize, std::int8_t parameter);
Result<unsigned> int_trunc_bits(std::uint32_t typesize, std::int8_t parameter);

// Clears the lowest `bits` of every little-endian item, in place; the bytes that fill no item stay.
// typesize is 1, 2, 4 or 8, bits <= 8 * typesize.
void clear_low_bits(std::uint32_t typesize, unsigned bits, std::span<std::byte> block);

}  // namespace framefs::codec

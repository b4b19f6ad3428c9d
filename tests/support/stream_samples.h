#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/support/bytes.h"

namespace framefs::test {

// Realistic content of compressed streams.  Deterministic for the same arguments.

// Words separated by blanks and newlines; few words are frequent and most are rare.
Bytes sample_text(std::size_t size, std::uint32_t seed);

// Readings of a slowly drifting float64 sensor with two decimal places, byte-shuffled: all first
// bytes, then all second bytes, and so on.  The size is a multiple of eight bytes.
Bytes sample_shuffled_floats(std::size_t count, std::uint32_t seed);

// Ascending int64 times with steps of at most 40, shuffled in the same way.
Bytes sample_shuffled_times(std::size_t count, std::uint32_t seed);

}  // namespace framefs::test

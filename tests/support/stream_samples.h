#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/support/bytes.h"

namespace framefs::test {

// What compressed streams are made of in real life; the same for the same arguments.

// Words separated by blanks and ends of line, the frequent ones much more so than the rest.
Bytes sample_text(std::size_t size, std::uint32_t seed);

// Readings of a float64 sensor that drifts slowly, with two decimal places, as shuffle leaves them:
// all first bytes, then all second ones, and so on.  A multiple of eight bytes.
Bytes sample_shuffled_floats(std::size_t count, std::uint32_t seed);

// Ascending int64 times with steps of no more than 40, shuffled likewise.
Bytes sample_shuffled_times(std::size_t count, std::uint32_t seed);

}  // namespace framefs::test

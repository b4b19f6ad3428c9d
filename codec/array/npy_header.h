#pragma once

#include <cstdint>
#include <string>

#include "codec/array/array_meta.h"

namespace framefs::codec {

// What a .npy file has before the bytes of the array in C order; a multiple of 64 bytes.  The same
// as NumPy writes (1.23 and later), names that are not ASCII excepted.  Items that are not
// described in NumPy's words are opaque bytes.
// `typesize` is the frame's.  Format 1.0, or 2.0 where that is too short.
// Source: array format, ".npy view"; NumPy Enhancement Proposal 1, numpy.lib.format.
std::string npy_header(const ArrayMeta& meta, std::uint32_t typesize);

}  // namespace framefs::codec

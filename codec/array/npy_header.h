#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codec/array/array_meta.h"

namespace framefs::codec {

// The first bytes of every .npy file.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// The header of a .npy file, which precedes the bytes of the array in C order.  Its size is a
// multiple of 64 bytes.  It equals the header that NumPy 1.23 and later write, unless a field name
// is not ASCII.  If the dtype is not in NumPy's notation, the items are opaque bytes.
// `typesize` is the frame's.  The header uses format 1.0, or 2.0 if it is too long for 1.0.
// Source: array format, ".npy view"; NumPy Enhancement Proposal 1, numpy.lib.format.
std::string npy_header(const ArrayMeta& meta, std::uint32_t typesize);

}  // namespace framefs::codec

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array_meta.h"

namespace framefs::codec {

// Whether the array's items are described in NumPy's words, so that a .npy file can say what they
// are.
[[nodiscard]] inline bool is_numpy_dtype(const ArrayMeta& meta) noexcept {
  return meta.dtype_format == 0;
}

// How the header of a .npy file describes the items of an array.
struct NpyDtype {
  std::string descr;  // a Python literal in ASCII: a quoted code, or a list of fields
  // Dimensions that every item has by itself: they follow those of the array.
  std::vector<std::uint64_t> shape;
};

// Turns the stored text of a dtype into what .npy files hold: codes and names of simple types, lists
// and dicts of fields, dtypes with a shape.  Fields come in the order of their bytes, with unnamed
// fields for the gaps.  A text that is anything else, that is too deep or too long, that has fields
// which overlap or objects, or that is not of `typesize` bytes, gives items of opaque bytes,
// "|V<typesize>"; so does an empty one.
// Source: array format, ".npy view"; NumPy Enhancement Proposal 1.
NpyDtype npy_dtype(std::string_view text, std::uint32_t typesize);

}  // namespace framefs::codec

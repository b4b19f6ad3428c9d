#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array_meta.h"

namespace framefs::codec {

// Whether the dtype is in NumPy's notation, so that a .npy file can describe the items.
[[nodiscard]] inline bool is_numpy_dtype(const ArrayMeta& meta) noexcept {
  return meta.dtype_format == 0;
}

// The description of an array's items in the header of a .npy file.
struct NpyDtype {
  std::string descr;  // a Python literal in ASCII: a quoted code, or a list of fields
  // The dimensions of each item, which follow those of the array.
  std::vector<std::uint64_t> shape;
};

// Converts the stored text of a dtype to the form that .npy files use.  The text may be a code or
// name of a simple type, a list or dict of fields, or a dtype with a shape.  The resulting fields
// are in the order of their bytes; gaps become unnamed fields.  The result is "|V<typesize>",
// opaque bytes, if the text is empty, not understood, too deep or too long, has overlapping fields
// or objects, or does not describe `typesize` bytes.
// Source: array format, ".npy view"; NumPy Enhancement Proposal 1.
NpyDtype npy_dtype(std::string_view text, std::uint32_t typesize);

}  // namespace framefs::codec

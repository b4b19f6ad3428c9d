#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/byte_source.h"

namespace framefs::codec {

// The header of a .npy file.  Source: NumPy Enhancement Proposal 1, numpy.lib.format.
struct NpyHeader {
  std::string dtype;  // "<f8"
  std::uint32_t typesize = 0;
  std::vector<std::uint64_t> shape;  // empty: an array of one item
  std::uint64_t data_at = 0;         // the offset of the items, which are in C order
};

// Reads the header of a file.  Returns nothing for a file whose items an array frame cannot give
// back: not a .npy file, Fortran order, records, objects, an array without items, a size that is
// not that of header and items.  An array without dimensions is one item.
std::optional<NpyHeader> read_npy_header(const ByteSource& file);

}  // namespace framefs::codec

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/file.h"

namespace framefs {

// The header of a .npy file.  Source: NumPy Enhancement Proposal 1, numpy.lib.format.
struct NpyHeader {
  std::string dtype;  // "<f8"
  std::uint32_t typesize = 0;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_at = 0;  // the offset of the items, which are in C order
};

// Reads the header of an open file of `size` bytes.  Returns nothing for a file that an array frame
// cannot give back unchanged: not a .npy file, Fortran order, records, objects, an array without
// items or dimensions, bytes behind the array.
std::optional<NpyHeader> read_npy_header(int fd, std::uint64_t size);

// The same for a path; returns nothing for names that do not end in ".npy".
std::optional<NpyHeader> find_npy_header(const std::filesystem::path& path);

}  // namespace framefs

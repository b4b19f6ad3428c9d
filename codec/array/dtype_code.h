#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framefs::codec {

// A dtype of NumPy that has no fields and no shape.
struct DtypeCode {
  std::string text =
      {};  // as NumPy writes it in .npy files, without quotes: "<f8", "|S3", "<M8[ns]"
  std::uint64_t itemsize = 0;   // bytes, below 2^31
  std::uint64_t alignment = 1;  // bytes, as NumPy aligns a field of it on a 64-bit Linux
};

// Reads what NumPy accepts as name of such a dtype: codes with or without byte order ("<f8", "d"),
// names of types ("float64", "datetime64[25s]").  What has no byte order is little endian.
// Nothing for anything else, and for objects, which are no bytes.
// Source: array format, ".npy view"; NumPy manual, "Data type objects", "Datetimes and timedeltas".
std::optional<DtypeCode> parse_dtype_code(std::string_view text);

}  // namespace framefs::codec

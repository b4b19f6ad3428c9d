#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace framefs::codec {

// The largest item that a frame can have, in bytes.
inline constexpr std::uint32_t kMaxItemBytes = std::numeric_limits<std::int32_t>::max();

// A NumPy dtype without fields and without a shape.
struct DtypeCode {
  // As NumPy writes it in .npy files, without quotes: "<f8", "|S3", "<M8[ns]".
  std::string text = {};
  std::uint64_t itemsize = 0;   // bytes, below 2^31
  std::uint64_t alignment = 1;  // bytes; NumPy's alignment of such a field on 64-bit Linux
};

// Parses the name of such a dtype, as NumPy accepts it: a code with or without byte order ("<f8",
// "d"), or the name of a type ("float64", "datetime64[25s]").  A name without byte order means
// little endian.  Returns nothing for other texts, and for objects, whose items are not bytes.
// Source: array format, ".npy view"; NumPy manual, "Data type objects", "Datetimes and timedeltas".
std::optional<DtypeCode> parse_dtype_code(std::string_view text);

}  // namespace framefs::codec

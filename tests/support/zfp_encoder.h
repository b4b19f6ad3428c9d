#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/support/bytes.h"

namespace framefs::test {

// A block of numbers as encoded by the zfp library, and as decoded again by it.
struct ZfpStream {
  Bytes bytes;
  Bytes decoded;
};

// Encodes numbers of `typesize` bytes (4 or 8) as the reference library's plugins 33, 34 and 35 do.
// `shape` has 1 to 4 dimensions; the last one varies fastest.
// Source: chunk format, "Plugin codecs", ZFP.
ZfpStream encode_zfp(std::uint8_t codec_id, std::uint8_t codec_meta,
                     std::span<const std::uint32_t> shape, std::size_t typesize,
                     std::span<const std::byte> numbers);

}  // namespace framefs::test

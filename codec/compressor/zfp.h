#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/block_shape.h"
#include "codec/core/result.h"
#include "codec/core/scratch.h"

namespace framefs::codec {

inline constexpr std::uint8_t kMaxZfpDims = 4;

// What a stream keeps constant, and what its parameter then means.
enum class ZfpMode : std::uint8_t {
  accuracy,   // the parameter, signed: an absolute error of 10 to its power
  precision,  // so many bits of each number, plus some for each dimension
  rate,       // percent of the size of a number
};

// How the streams of a chunk were coded; they carry no header of their own.
struct ZfpFormat {
  ZfpMode mode = ZfpMode::accuracy;
  std::uint8_t parameter = 0;
  std::uint32_t typesize = 4;   // 4: floats, 8: doubles
  BlockShape block_shape = {};  // of 1 to kMaxZfpDims dimensions
};

// Whether this program was built with libzfp.  (CMake chooses zfp.cc or zfp_absent.cc.)
bool has_zfp() noexcept;

// Decodes one stream, which must be a whole block of the shape given.  No byte beyond `in` is read,
// whatever it holds.
// Errors: truncated where the numbers need more bits than there are; bad_field, "zfp decoded size",
//   where `out` is not of the block's size, and for a format other than above; system, where there
//   is no memory; unsupported without libzfp.  `out` then holds unspecified bytes.
// Source: chunk format, "Plugin codecs"; blosc2-zfp.c.
Status decode_zfp(const ZfpFormat& format, std::span<const std::byte> in, std::span<std::byte> out,
                  Scratch& scratch);

}  // namespace framefs::codec

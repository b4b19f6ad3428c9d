#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/block_shape.h"
#include "codec/core/result.h"
#include "codec/core/scratch.h"

namespace framefs::codec {

inline constexpr std::uint8_t kMaxZfpDims = 4;

// The property that a stream keeps constant.  It determines the meaning of the parameter.
enum class ZfpMode : std::uint8_t {
  accuracy,   // the parameter is signed: the absolute error is 10 to its power
  precision,  // the number of bits per value, plus some for each dimension
  rate,       // percent of the size of a value
};

// Parameters of a chunk's streams; the streams have no header of their own.
struct ZfpFormat {
  ZfpMode mode = ZfpMode::accuracy;
  std::uint8_t parameter = 0;
  std::uint32_t typesize = 4;   // 4: floats, 8: doubles
  BlockShape block_shape = {};  // of 1 to kMaxZfpDims dimensions
};

// Whether this program was built with libzfp.  CMake chooses zfp.cc or zfp_absent.cc.
bool has_zfp() noexcept;
// The version of libzfp; "" without it.
const char* zfp_version() noexcept;

// Decodes one stream, which must be a whole block of the given shape.  No byte beyond `in` is read,
// whatever the stream contains.
// Errors: truncated if the values need more bits than the stream has; bad_field, "zfp decoded
// size", if `out` does not have the block's size; bad_field for an invalid format; system, if
// memory runs out; unsupported without libzfp.  The content of `out` is then undefined.
// Source: chunk format, "Plugin codecs"; blosc2-zfp.c.
Status decode_zfp(const ZfpFormat& format, std::span<const std::byte> in, std::span<std::byte> out,
                  Scratch& scratch);

}  // namespace framefs::codec

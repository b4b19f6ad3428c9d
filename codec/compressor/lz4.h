#pragma once

#include <cstddef>
#include <span>

#include "codec/core/result.h"

namespace framefs::codec {

// Decodes one raw LZ4 block, which must fill `out` exactly and end where `in` does.  A `dictionary`
// that is not empty stands for the text before it.
// Errors: bad_field; over_limit for buffers of 2 GiB or more.  `out` then holds unspecified bytes.
// Source: chunk format, codecs and dictionaries.
Status decode_lz4(std::span<const std::byte> in, std::span<std::byte> out,
                  std::span<const std::byte> dictionary);

}  // namespace framefs::codec

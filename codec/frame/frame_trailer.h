#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codec/core/result.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// The content of a vl-metalayer as the chunk that is stored.
// Errors: over_limit where no chunk can be so large; system, where there is no memory.
Result<std::vector<std::byte>> encode_vlmetalayer(std::span<const std::byte> plain);

// A frame's trailer; the contents are those of encode_vlmetalayer(), or chunks taken from another
// frame.
// Errors: as append_metalayers().
// Source: frame format, "Trailer".
Result<std::vector<std::byte>> encode_trailer(std::span<const NamedContent> vlmetalayers);

}  // namespace framefs::codec

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/core/result.h"
#include "codec/frame/metalayer.h"
#include "fs/core/files/file.h"

namespace framefs::fs {

// With more of them, the reference library refuses to write to the frame.  Source: frame format,
// "Trailer".
inline constexpr std::size_t kMaxVlmetalayers = 16;

// Whether a vl-metalayer that is set has to be there already.
enum class ExistingVlmeta : std::uint8_t { any, must, must_not };

// The vl-metalayers of a frame after one of them was set to `stored`, which is the content as a
// chunk, or was removed if there is no `stored`.  There may be `most` of them.
// Errors: system: ENODATA, EEXIST; ENOSPC for more than other writers accept.
Result<std::vector<codec::NamedContent>> change_vlmeta(std::vector<codec::NamedContent> layers,
                                                       std::string_view name,
                                                       std::optional<std::vector<std::byte>> stored,
                                                       ExistingVlmeta existing,
                                                       std::size_t most = kMaxVlmetalayers);

}  // namespace framefs::fs

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/core/result.h"
#include "codec/frame/metalayer.h"
#include "fs/core/file.h"

namespace framefs::fs {

// Whether a vl-metalayer that is set has to be there already.
enum class ExistingVlmeta : std::uint8_t { any, must, must_not };

// The vl-metalayers of a frame after one of them was set to `stored`, which is the content as a
// chunk, or was removed if there is no `stored`.
// Errors: system: ENODATA, EEXIST; ENOSPC for more than other writers accept.
Result<std::vector<codec::NamedContent>> change_vlmeta(std::vector<codec::NamedContent> layers,
                                                       std::string_view name,
                                                       std::optional<std::vector<std::byte>> stored,
                                                       ExistingVlmeta existing);

}  // namespace framefs::fs

#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace framefs::fs {

// Files that hold contiguous frames, and are shown without this part of their names.
inline constexpr std::array<std::string_view, 3> kFrameSuffixes = {".b2frame", ".b2f", ".b2"};

// The file in the directory of a sparse frame that lists its chunks.
inline constexpr std::string_view kSparseIndexName = "chunks.b2frame";

// The name under which a frame called `name` would be shown; nothing where the name has no frame's
// suffix or too little before it.
std::optional<std::string_view> stripped_name(std::string_view name);

// Lock files beside frames, which no reader wants to see.
bool is_hidden(std::string_view name);

}  // namespace framefs::fs

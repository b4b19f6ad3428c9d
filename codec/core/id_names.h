#pragma once

#include <cstdint>

namespace framefs::codec {

// What the ids of codecs and of filters stand for.  In both, 0-31 are the format's own, 32-159 are
// registered with the Blosc project, 160-255 are anybody's.
//
// ..._name(): "lz4hc", "shuffle"; null for ids that have no name.
// ..._label(): for an error's field, where the id is the value: "codec openhtj2k", "user filter";
// never null.
// Threads: any.  Source: blosc2.h, codecs-registry.h, filters-registry.h.

// Ids of codecs as frame headers have them, and chunks where a plugin is used; the format number in
// a chunk's flags is another thing: see CodecFormat.
const char* codec_name(std::uint8_t id) noexcept;
const char* codec_label(std::uint8_t id) noexcept;

const char* filter_name(std::uint8_t id) noexcept;
const char* filter_label(std::uint8_t id) noexcept;

// 5-31 are nobody's yet; in a filter slot they are damage.
inline constexpr std::uint8_t kFirstRegisteredId = 32;
inline constexpr std::uint8_t kFirstUserId = 160;

}  // namespace framefs::codec

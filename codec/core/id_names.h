#pragma once

#include <cstdint>

namespace framefs::codec {

// Names for the ids of codecs and filters.  For both, the format defines 0-31, plugins registered
// with the Blosc project have 32-159, and users may choose any of 160-255.
//
// ..._name(): "lz4hc", "shuffle"; null for an id without a name.
// ..._label(): the field of an error whose value is the id: "codec openhtj2k", "user filter"; never
// null.
// Threads: any.  Source: blosc2.h, codecs-registry.h, filters-registry.h.

// Codec ids as in frame headers, and in chunks that use a plugin.  The format number in a chunk's
// flags is a different number: see CodecFormat.
const char* codec_name(std::uint8_t id) noexcept;
const char* codec_label(std::uint8_t id) noexcept;

const char* filter_name(std::uint8_t id) noexcept;
const char* filter_label(std::uint8_t id) noexcept;

inline constexpr std::uint8_t kFirstRegisteredId = 32;
inline constexpr std::uint8_t kFirstUserId = 160;

}  // namespace framefs::codec

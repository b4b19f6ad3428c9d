#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/byte_writer.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// A named piece of user data in a frame.  Only the location is kept, because contents may be large
// and are rarely needed.
struct Metalayer {
  std::string name;
  ByteRange content;  // in the frame; in the trailer, the content is a chunk
};

// Parses a directory of metalayers: a map from names to offsets, then the contents.  The header and
// the trailer have one each.  `part` is the whole header or trailer, `map_at` the offset of the
// directory in `part` (FrameHeader::metalayers_at() in the header, 2 in the trailer), and `part_at`
// the offset of `part` in the frame.  No content may exceed `part`, and none is read.
// Errors: truncated, bad_field (also for more than `most` entries), with offsets from `part`'s
// start; errors of the source.
// Source: frame format, "Metalayers".
Result<std::vector<Metalayer>> parse_metalayers(const ByteSource& part, std::size_t map_at,
                                                std::uint64_t part_at, std::uint16_t most);
Result<std::vector<Metalayer>> parse_metalayers(std::span<const std::byte> part, std::size_t map_at,
                                                std::uint64_t part_at, std::uint16_t most);

// The metalayer that makes a frame an array, or null.  Files written before arrays were part of the
// format have Caterva's.  Source: array format, "Metalayer".
const Metalayer* find_array_layer(const std::vector<Metalayer>& layers);

// A metalayer to be written, with its content.
struct NamedContent {
  std::string name;
  std::vector<std::byte> content;
};

// Appends a directory of metalayers and their contents to `out`, which holds the beginning of a
// header or trailer.  The inverse of parse_metalayers().  The directory stores its own size, which
// is counted from offset `size_counts_from` of `out`.
// Errors: bad_field for a name that is empty, too long or used twice; over_limit for more than
// `most` layers, or for a directory or header whose size does not fit its field.  `out` must then
// be discarded.
// Source: frame format, "Metalayers".
Status append_metalayers(ByteWriter& out, std::span<const NamedContent> layers,
                         std::size_t size_counts_from, std::uint16_t most);

}  // namespace framefs::codec

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/core/byte_writer.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// A named piece of user data in a frame.  Only where it stands is kept: contents may be large and
// are seldom asked for.
struct Metalayer {
  std::string name;
  ByteRange content;  // within the frame; in the trailer it is a chunk by itself
};

// Reads a directory of metalayers, as it stands in the header (from byte 87 on) and in the trailer
// (from its third byte on): a map from names to offsets, then the contents. `part` is the whole
// header or trailer, `map_at` where in it the directory starts, `part_at` where in the frame `part`
// stands.  No content may pass the end of `part`.
// Errors: truncated, bad_field (more than `most` entries, too), with offsets from `part`'s start.
// Source: frame format, "Metalayers".
Result<std::vector<Metalayer>> parse_metalayers(std::span<const std::byte> part, std::size_t map_at,
                                                std::uint64_t part_at, std::uint16_t most);

// The metalayer that makes a frame an array, or null.  Caterva's is that of files from before this was
// part of the format.  Source: array format, "Metalayer".
const Metalayer* find_array_layer(const std::vector<Metalayer>& layers);

// A metalayer to be written, with what it holds.
struct NamedContent {
  std::string name;
  std::vector<std::byte> content;
};

// Appends a directory of metalayers and their contents to a header or trailer of which `out` holds
// the beginning; what parse_metalayers() reads.  `size_counts_from` is where in `out` the directory's
// own size is counted from.
// Errors: bad_field for a name that is empty, too long or there twice; over_limit for more than
// `most`, or more than a directory's or a header's size can tell.  `out` is then of no use.
// Source: frame format, "Metalayers".
Status append_metalayers(ByteWriter& out, std::span<const NamedContent> layers,
                         std::size_t size_counts_from, std::uint16_t most);

}  // namespace framefs::codec

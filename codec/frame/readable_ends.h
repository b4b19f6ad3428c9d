#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codec/chunk/chunk_context.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/frame/frame_header.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// The two ends of a damaged frame, its header and its trailer, as far as they can be read.
// Damaged parts are absent: damage is no error here.

// The readable parts of a header.
struct ReadableHead {
  std::optional<FrameHeader> fixed;
  bool may_have_vlmetalayers = true;
  bool has_metalayers = false;  // the directory of metalayers could be read
  std::vector<NamedContent> metalayers;
  ChunkContext context;  // of the frame's chunks

  [[nodiscard]] bool is_of_empty_frame() const { return fixed && fixed->nbytes == 0; }
  // Without an index, the trailer follows the header.
  [[nodiscard]] std::uint64_t tail_of_empty_frame() const {
    return is_of_empty_frame() ? fixed->header_len : 0;
  }
};
// Also accepts a header in which only the magic was overwritten.
ReadableHead read_head(const ByteSource& file, const Limits& limits);
// Adds the metalayers of a header of `header_len` bytes, whose fixed part may be lost, to `head`.
void add_metalayers(const ByteSource& file, std::uint64_t header_len, std::size_t map_at,
                    const Limits& limits, ReadableHead& head);

// The readable parts of a trailer.
struct ReadableTail {
  std::vector<Metalayer> layers;
  std::vector<NamedContent> vlmetalayers;
  bool is_whole = false;  // all of its vl-metalayers could be read
};
// Reads the trailer that begins at `at` of a file of `end` bytes.  Its end may be lost.
ReadableTail read_tail(const ByteSource& file, std::uint64_t at, std::uint64_t end,
                       const Limits& limits);

}  // namespace framefs::codec

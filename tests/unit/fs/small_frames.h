#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/support/bytes.h"
#include "tests/support/frame_builder.h"
#include "tests/support/sample_data.h"

namespace framefs::test {

// A frame of `nbytes` noisy bytes in chunks of 1000.
inline Bytes small_frame(std::size_t nbytes, std::uint32_t seed = 1) {
  constexpr std::size_t kChunk = 1000;
  FrameSpec spec;
  spec.typesize = 1;
  spec.chunksize = kChunk;
  ChunkSpec chunk;
  chunk.typesize = 1;
  const Bytes data = noise(nbytes, seed);
  for (std::size_t at = 0; at < nbytes; at += kChunk) {
    const auto size = std::min(kChunk, nbytes - at);
    spec.chunks.push_back(stored_chunk(std::span(data).subspan(at, size), chunk));
  }
  return build_frame(spec).bytes;
}

// The header of a sparse frame's index file.  Source: frame format, "Header", byte 26.
inline Bytes sparse_index(std::size_t nbytes) {
  Bytes frame = small_frame(nbytes);
  frame[26] = std::byte{1};
  return frame;
}

// A frame by its magic, in whose header nothing else is right.
inline Bytes damaged_frame() {
  Bytes frame = small_frame(10);
  put_be<std::int64_t>(frame, 30, -1);  // uncompressed_size
  return frame;
}

}  // namespace framefs::test

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tests/support/array_builder.h"
#include "tests/support/bytes.h"
#include "tests/support/frame_builder.h"
#include "tests/support/sample_data.h"
#include "tests/support/sparse_frame_builder.h"

namespace framefs::test {

// A frame of `nbytes` noisy bytes in chunks of 1000 bytes.
inline FrameSpec small_frame_spec(std::size_t nbytes, std::uint32_t seed = 1) {
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
  return spec;
}

inline Bytes small_frame(std::size_t nbytes, std::uint32_t seed = 1) {
  return build_frame(small_frame_spec(nbytes, seed)).bytes;
}

inline BuiltSparseFrame small_sparse_frame(std::size_t nbytes, std::uint32_t seed = 1) {
  return build_sparse_frame(small_frame_spec(nbytes, seed));
}
inline Bytes sparse_index(std::size_t nbytes) { return small_sparse_frame(nbytes).index_file; }

// A frame with a valid magic and an otherwise invalid header.
inline Bytes damaged_frame() {
  Bytes frame = small_frame(10);
  put_be<std::int64_t>(frame, 30, -1);  // uncompressed_size
  return frame;
}

// A list of 4-byte numbers, in chunks of 250 and blocks of 100 items.
inline ArraySpec small_array_spec(std::size_t items, const std::string& dtype = "<i4") {
  return {.shape = {items},
          .chunkshape = {250},
          .blockshape = {100},
          .dtype = dtype,
          .typesize = 4,
          .chunk = {}};
}
inline FrameSpec small_array_frame(std::size_t items, std::uint32_t seed = 1) {
  return array_frame(small_array_spec(items), noise(4 * items, seed));
}
inline Bytes small_array(std::size_t items, std::uint32_t seed = 1) {
  return build_frame(small_array_frame(items, seed)).bytes;
}

// An array whose items have no NumPy name: format 1 of the dtype.
inline Bytes small_opaque_array(std::size_t items) {
  FrameSpec spec = small_array_frame(items);
  Bytes& layer = spec.metalayers[0].content;
  layer[layer.size() - 9] = std::byte{1};  // before the dtype's marker, length and 3 bytes
  return build_frame(spec).bytes;
}

}  // namespace framefs::test

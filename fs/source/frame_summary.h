#pragma once

#include <cstdint>
#include <string_view>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"

namespace framefs::fs {

// The content of a file, if the mount shows it differently from the file itself.
enum class Content : std::uint8_t {
  other,            // nothing of the kinds below
  frame,            // a frame, shown as its chunks in sequence
  array,            // a frame that holds an n-dimensional array
  embed_container,  // a frame that holds other frames, under names
  zip_container,    // an archive of such files, stored without compression
};

// The content that a file's name implies.  A probe looks only for that content.
enum class Expected : std::uint8_t { nothing, frame, array, embed_container, zip_container };

// The facts that the first bytes of a file give.  For a damaged frame, they come from its header
// alone.
struct FrameSummary {
  Content content = Content::other;
  bool is_sparse = false;          // this is the index; each chunk is a file beside it
  bool is_numpy = false;           // an array whose items have a NumPy type
  std::uint64_t nbytes = 0;        // decoded size of the frame, also of an array's chunks
  std::uint64_t chunksize = 0;     // decoded size of a chunk; 0 if chunks vary
  std::uint64_t stored_bytes = 0;  // sparse frame: size of index and chunk files
  std::uint64_t array_bytes = 0;   // size of the array in C order
  std::uint64_t npy_bytes = 0;     // size of the header before it in a .npy file
};

// Examines the beginning of `source`.  Bytes that cannot be read count as Content::other.
FrameSummary summarise(const codec::ByteSource& source, Expected expected,
                       const codec::Limits& limits);

}  // namespace framefs::fs

#pragma once

#include <cstdint>
#include <string_view>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"

namespace framefs::fs {

// What a file holds, as far as the mount shows it otherwise than as it is.
enum class Content : std::uint8_t {
  other,            // nothing of the kinds below
  frame,            // a frame: its chunks, one after the other
  array,            // a frame that holds an n-dimensional array
  embed_container,  // a frame that holds other frames, under names
  zip_container,    // an archive of such files, stored without compression
};

// What a file's name lets expect; only the expected is looked for.
enum class Expected : std::uint8_t { nothing, frame, array, embed_container, zip_container };

// What the first bytes of a file say.  Of a damaged frame, what its header still tells.
struct FrameSummary {
  Content content = Content::other;
  bool is_sparse = false;          // the chunks are files of their own beside this one, the index
  bool is_numpy = false;           // an array whose items NumPy has a name for
  std::uint64_t nbytes = 0;        // decoded size of a frame, of an array's chunks too
  std::uint64_t chunksize = 0;     // likewise; 0 where chunks vary
  std::uint64_t stored_bytes = 0;  // of a sparse frame: index and chunk files
  std::uint64_t array_bytes = 0;   // of an array in C order
  std::uint64_t npy_bytes = 0;     // and of the header before it in a .npy file
};

// Looks at the beginning of `source`.  What cannot be read is nothing special.
FrameSummary summarise(const codec::ByteSource& source, Expected expected,
                       const codec::Limits& limits);

}  // namespace framefs::fs

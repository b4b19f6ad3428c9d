#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/core/limits.h"
#include "fs/view/cached_frame.h"

namespace framefs::fs {

// How one chunk of a frame is stored.
struct ChunkInfo {
  std::uint64_t index = 0;
  // Where it begins in `file`; nothing where it is in the frame's index alone.  Units: bytes, from the
  // frame's start in a contiguous frame.
  std::optional<std::uint64_t> offset;
  std::string file;  // the chunk file of a sparse frame; empty in a contiguous one
  // Nothing where it cannot be read.
  std::optional<codec::ChunkHeader> header;
  // Whether whole blocks are one stream for each byte of an item; nothing where that is not known.
  std::optional<bool> is_split;
  std::optional<Error> error;  // what is wrong, as far as header and tables tell
};

// Looks at header and tables of every chunk in turn, however many there are, for as long as `visit`
// returns true; keeps little of it in memory.  A chunk that cannot be read is visited with its error.
void visit_chunks(const codec::Frame& frame, const FrameOrigin& origin, const codec::Limits& limits,
                  const std::function<bool(const ChunkInfo&)>& visit);

// The codec that the blocks were compressed with: "lz4", "user codec 200"; empty where none was.  Of LZ4 and
// LZ4HC, which write the same, a chunk does not tell which.
std::string chunk_codec_name(const codec::ChunkHeader& header);

// "zero", "nan", "value", "uninit"; empty for chunks that are stored.
const char* special_name(codec::Special special) noexcept;

}  // namespace framefs::fs

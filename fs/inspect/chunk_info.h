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
  // Where the chunk begins in `file`; unset for a chunk that exists only in the frame's index.
  // Units: bytes, from the frame's start in a contiguous frame.
  std::optional<std::uint64_t> offset;
  std::string file;  // the chunk file of a sparse frame; empty in a contiguous one
  // Unset if the header cannot be read.
  std::optional<codec::ChunkHeader> header;
  // Whether each whole block has one stream per byte of an item; unset if that is not known.
  std::optional<bool> is_split;
  bool is_absent = false;      // its data lie elsewhere: DataPlace::has_data_of()
  std::optional<Error> error;  // what is wrong, according to header and tables
};

// Reads header and tables of each chunk in turn, while `visit` returns true.  Keeps only a small
// part in memory, however many chunks there are.  A chunk that cannot be read is visited with its
// error.
void visit_chunks(const codec::Frame& frame, const FrameOrigin& origin, const codec::Limits& limits,
                  const std::function<bool(const ChunkInfo&)>& visit);

// The codec of the blocks: "lz4", "user codec 200"; empty if no block is compressed.  LZ4 and LZ4HC
// write the same format, so a chunk does not tell them apart.
std::string chunk_codec_name(const codec::ChunkHeader& header);

// "zero", "nan", "value", "uninit"; empty for chunks that are stored.
const char* special_name(codec::Special special) noexcept;

}  // namespace framefs::fs

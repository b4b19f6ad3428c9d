#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/frame_builder.h"

namespace framefs::test {

// A sparse frame: a directory of an index file and one file for each stored chunk.
struct BuiltSparseFrame {
  Bytes index_file;
  std::map<std::uint32_t, Bytes> chunks;  // by id
  // Where the parts of the index file begin.  Units: bytes from its start.
  std::size_t index_at = 0;
  std::size_t trailer_at = 0;
};

// The stored chunks get `ids` in the order of the spec; 0, 1, 2 and so on where there are none.
// Source: sparse frame format.
BuiltSparseFrame build_sparse_frame(const FrameSpec& spec, std::span<const std::uint32_t> ids = {});

// The index file, for a writer that streams chunks to files.  `entries` are ids, or rules.
// `numbers.frame_bytes` is not looked at.
BuiltSparseFrame build_sparse_index(const FrameSpec& spec, FrameNumbers numbers,
                                    std::span<const std::int64_t> entries);

// "0000002A.chunk".
std::string chunk_file_name(std::uint32_t id);

// Writes the frame's files into `folder`, which is made where it is missing.
void write_sparse_frame(const std::filesystem::path& folder, const BuiltSparseFrame& frame);

}  // namespace framefs::test

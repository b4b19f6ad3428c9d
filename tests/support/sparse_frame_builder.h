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

// A sparse frame: the content of its index file and of one file per stored chunk.
struct BuiltSparseFrame {
  Bytes index_file;
  std::map<std::uint32_t, Bytes> chunks;  // by id
  // Offsets of the parts of the index file.  Units: bytes from its start.
  std::size_t index_at = 0;
  std::size_t trailer_at = 0;
};

// The stored chunks get `ids` in the order of the spec, or 0, 1, 2, ... if `ids` is empty.
// Source: frame format, "Sparse frames".
BuiltSparseFrame build_sparse_frame(const FrameSpec& spec, std::span<const std::uint32_t> ids = {});

// The index file, for a writer that streams chunks to files.  `entries` are ids, or rules.
// `numbers.frame_bytes` is ignored.
BuiltSparseFrame build_sparse_index(const FrameSpec& spec, FrameNumbers numbers,
                                    std::span<const std::int64_t> entries);

// "0000002A.chunk".
std::string chunk_file_name(std::uint32_t id);

// Writes the frame's files to `folder` and creates the folder if necessary.
void write_sparse_frame(const std::filesystem::path& folder, const BuiltSparseFrame& frame);

}  // namespace framefs::test

#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/frame/chunk_scan.h"
#include "codec/frame/frame_header.h"

namespace framefs::codec {

// An index chunk that was found without the help of a header or trailer.
struct FoundIndex {
  std::uint64_t at = 0;
  std::uint64_t end = 0;
  std::uint64_t base = 0;   // the base of the entries of stored chunks: the header's length
  bool is_current = false;  // probably the index of the last commit
  std::vector<std::int64_t> entries;
};

// The index chunks of a file, and the one that gives the order of the other chunks.
struct IndexSearch {
  std::optional<FoundIndex> best;
  std::unordered_set<std::uint64_t> places;  // the offsets of all index chunks
  [[nodiscard]] bool is_index(std::uint64_t at) const { return places.contains(at); }
};

// Looks among the chunks of a contiguous frame's file.  An index counts if at least half of its
// entries lead to chunks that were found.  The header's own index comes first, then the one that
// leads to most chunks, then the last in the file.
IndexSearch find_index(const ByteSource& file, const std::optional<FrameHeader>& header,
                       const std::vector<FoundChunk>& found, const Limits& limits);

// The same for the index file of a sparse frame; entries are numbers of chunk files.
std::optional<FoundIndex> find_sparse_index(const ByteSource& file,
                                            const std::vector<FoundChunk>& found,
                                            const std::vector<FoundChunk>& chunk_files,
                                            const Limits& limits);

// Returns the kind of special chunk that a negative index entry stands for.
Special special_of_code(std::int64_t entry) noexcept;

}  // namespace framefs::codec

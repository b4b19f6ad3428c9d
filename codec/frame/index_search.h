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
  // The place of the index of the last commit, also of one whose entries are damaged.
  std::optional<ByteRange> last;
  std::unordered_set<std::uint64_t> places;  // the offsets of all index chunks
  [[nodiscard]] bool is_index(std::uint64_t at) const { return places.contains(at); }
};

// Returns the entries of the index to which the header leads, if it is among the chunks and has an
// entry for each chunk of the frame.  The entries need not lead to chunks that were found.
std::optional<std::vector<std::int64_t>> read_own_index(const ByteSource& file,
                                                        const FrameHeader& header,
                                                        const std::vector<FoundChunk>& found,
                                                        const Limits& limits);

// Looks among the chunks of a contiguous frame's file.  A chunk is an index if it has the place of
// one, or if at least half of its entries lead to chunks that were found; only the latter can be
// the best.  The header's own index comes first, then the one that leads to most chunks, then the
// last in the file.
// Decodes no chunk twice, and at most one chunk of a repeated value.
// Errors: scan_ended(); those of the source.
Result<IndexSearch> find_index(const ByteSource& file, const std::optional<FrameHeader>& header,
                               const std::vector<FoundChunk>& found, const Limits& limits,
                               const ScanProgress& progress);

// The same for the index file of a sparse frame; entries are numbers of chunk files.
Result<std::optional<FoundIndex>> find_sparse_index(const ByteSource& file,
                                                    const std::vector<FoundChunk>& found,
                                                    const std::vector<FoundChunk>& chunk_files,
                                                    const Limits& limits,
                                                    const ScanProgress& progress);

// Returns the kind of special chunk that a negative index entry stands for.
Special special_of_code(std::int64_t entry) noexcept;

}  // namespace framefs::codec

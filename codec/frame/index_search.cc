#include "codec/frame/index_search.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_reader.h"
#include "codec/frame/chunk_space.h"
#include "codec/frame/frame_index.h"

namespace framefs::codec {
namespace {

constexpr unsigned kKindShift = 56;
// The number of chunks that are tried as the chunk of an index's lowest entry.
constexpr std::size_t kMaxBases = 64;

using Starts = std::unordered_set<std::uint64_t>;

// Returns whether all entries name different chunks and every negative entry has a known code.
bool may_be_index(const std::vector<std::int64_t>& entries) {
  constexpr std::uint64_t kCodeBits = std::uint64_t{0x87} << kKindShift;
  std::unordered_set<std::int64_t> seen;
  return std::ranges::all_of(entries, [&](const std::int64_t entry) {
    if (entry < 0) return (static_cast<std::uint64_t>(entry) & ~kCodeBits) == 0;
    return seen.insert(entry).second;
  });
}

std::optional<FoundIndex> read_index(const ByteSource& file, const FoundChunk& found,
                                     const Limits& limits) {
  const auto& header = found.header;
  if (header.typesize != kIndexEntryBytes || header.nbytes % kIndexEntryBytes != 0 ||
      header.nbytes > limits.chunk_table_bytes) {
    return std::nullopt;
  }
  const auto [at, size] = found.stored;
  const auto chunk = Chunk::open(file, at, size, {.schunk_typesize = kIndexEntryBytes}, limits);
  if (!chunk) return std::nullopt;
  std::vector<std::byte> stored(header.nbytes);
  if (!ChunkReader(file, *chunk).read(0, stored)) return std::nullopt;
  FoundIndex index{.at = at, .end = at + size, .entries = {}};
  for (std::size_t i = 0; i < stored.size(); i += kIndexEntryBytes) {
    index.entries.push_back(load_le<std::int64_t>(stored.data() + i));
  }
  if (!may_be_index(index.entries)) return std::nullopt;
  return index;
}

// The number of entries that lead to a chunk, and the number that should.
struct StartsFound {
  std::uint64_t hits = 0;
  std::uint64_t stored = 0;
  [[nodiscard]] bool is_good() const noexcept { return hits >= stored - stored / 2; }
};

template <class Place>
StartsFound match_with(const FoundIndex& index, const Starts& starts, Place place) {
  StartsFound match;
  for (const auto entry : index.entries) {
    if (entry < 0) continue;
    ++match.stored;
    if (starts.contains(place(static_cast<std::uint64_t>(entry)))) ++match.hits;
  }
  return match;
}

// Returns the possible bases of the entries.  Without a header, each found chunk gives a candidate.
std::vector<std::uint64_t> bases_for(const FoundIndex& index,
                                     const std::optional<FrameHeader>& header,
                                     const std::vector<FoundChunk>& found) {
  if (header) return {header->header_len};
  std::uint64_t lowest = 0;
  bool has_stored = false;
  for (const auto entry : index.entries) {
    if (entry < 0) continue;
    const auto value = static_cast<std::uint64_t>(entry);
    lowest = has_stored ? std::min(lowest, value) : value;
    has_stored = true;
  }
  std::vector<std::uint64_t> bases;
  for (const auto& chunk : found) {
    if (bases.size() == kMaxBases) break;
    const auto at = chunk.stored.offset;
    if (at >= lowest && at - lowest >= kFrameFixedHeaderBytes) bases.push_back(at - lowest);
  }
  return bases;
}

// A trailer is an array of four items, version 1.  Source: frame format, "Trailer".
bool is_before_trailer(const ByteSource& file, std::uint64_t end) {
  std::array<std::byte, 2> head{};
  return file.read_at(end, head) && head[0] == std::byte{0x94} && head[1] == std::byte{1};
}

}  // namespace

Special special_of_code(std::int64_t entry) noexcept {
  constexpr std::uint64_t kZero = 1;
  constexpr std::uint64_t kNan = 2;
  const auto bits = static_cast<std::uint64_t>(entry) >> kKindShift;
  if ((bits & kZero) != 0) return Special::zero;
  return (bits & kNan) != 0 ? Special::nan : Special::uninit;
}

IndexSearch find_index(const ByteSource& file, const std::optional<FrameHeader>& header,
                       const std::vector<FoundChunk>& found, const Limits& limits) {
  IndexSearch search;
  Starts starts;
  for (const auto& chunk : found) starts.insert(chunk.stored.offset);
  const auto own_at = header ? header->header_len + header->cbytes : 0;
  auto best = std::tuple(false, false, std::uint64_t{0}, std::uint64_t{0});
  for (const auto& chunk : found) {
    auto index = read_index(file, chunk, limits);
    if (!index) continue;
    StartsFound match;
    for (const auto base : bases_for(*index, header, found)) {
      const auto with =
          match_with(*index, starts, [base](std::uint64_t entry) { return base + entry; });
      if (with.hits <= match.hits && match.stored > 0) continue;
      match = with;
      index->base = base;
    }
    const bool is_own = header && index->at == own_at;
    const bool ends_frame = is_before_trailer(file, index->end);
    // Data can look like an index without stored chunks.  Only the place tells the two apart.
    if (!match.is_good() || (match.stored == 0 && !is_own && !ends_frame)) continue;
    search.places.insert(index->at);
    const auto rank = std::tuple(is_own, ends_frame, match.hits, index->at);
    if (search.best && rank <= best) continue;
    best = rank;
    index->is_current = is_own || (!header && ends_frame);
    search.best = std::move(*index);
  }
  return search;
}

std::optional<FoundIndex> find_sparse_index(const ByteSource& file,
                                            const std::vector<FoundChunk>& found,
                                            const std::vector<FoundChunk>& chunk_files,
                                            const Limits& limits) {
  Starts starts;
  for (const auto& chunk : chunk_files) starts.insert(chunk.stored.offset);
  for (const auto& chunk : found) {
    auto index = read_index(file, chunk, limits);
    if (!index) continue;
    const auto match = match_with(*index, starts, [](std::uint64_t id) {
      return id > kMaxChunkFileId ? ~std::uint64_t{0}
                                  : chunk_file_at(static_cast<std::uint32_t>(id));
    });
    if (!match.is_good()) continue;
    index->is_current = true;  // an index file holds one index
    return index;
  }
  return std::nullopt;
}

}  // namespace framefs::codec

#include "codec/frame/index_search.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <tuple>
#include <utility>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"
#include "codec/frame/chunk_space.h"
#include "codec/frame/frame_index.h"

namespace framefs::codec {
namespace {

constexpr unsigned kKindShift = 56;
constexpr std::uint64_t kMaxIndexBytes = 64u << 20;  // of an index as such: eight million chunks
// The number of chunks that are tried as the chunk of an index's lowest entry.
constexpr std::size_t kMaxBases = 64;

using Starts = std::unordered_set<std::uint64_t>;

bool has_known_code(std::int64_t entry) {
  constexpr std::uint64_t kCodeBits = std::uint64_t{0x87} << kKindShift;
  return (static_cast<std::uint64_t>(entry) & ~kCodeBits) == 0;
}

// Whether the header of a chunk is that of an index.
bool may_hold_index(const ChunkHeader& header) {
  return header.typesize == kIndexEntryBytes && header.nbytes % kIndexEntryBytes == 0 &&
         header.nbytes <= kMaxIndexBytes;
}

// An index whose entries are all the same code is a chunk of a repeated value, which has few bytes
// for any number of entries.
bool repeats_entry(const ChunkHeader& header) {
  return header.special == Special::value && header.nbytes > kIndexEntryBytes;
}

// The most entries of stored chunks that an index can have: at least half of them lead to chunks.
std::size_t most_stored(const Starts& starts) { return 2 * starts.size(); }

// Reads the entries of an index.  Reads no more of a chunk that cannot be an index: all entries of
// stored chunks differ, and every negative entry has a known code.
std::optional<std::vector<std::int64_t>> read_index(const ByteSource& file, const FoundChunk& found,
                                                    std::size_t most, const Limits& limits) {
  constexpr std::size_t kPieceBytes = 64u << 10;
  const auto [at, size] = found.stored;
  const auto chunk = Chunk::open(file, at, size, {.schunk_typesize = kIndexEntryBytes}, limits);
  if (!chunk) return std::nullopt;
  ChunkReader reader(file, *chunk);
  std::vector<std::int64_t> entries;
  std::unordered_set<std::int64_t> stored;
  std::vector<std::byte> piece;
  for (std::size_t from = 0; from < found.header.nbytes; from += piece.size()) {
    piece.resize(std::min<std::size_t>(kPieceBytes, found.header.nbytes - from));
    if (!reader.read(from, piece)) return std::nullopt;
    for (std::size_t i = 0; i < piece.size(); i += kIndexEntryBytes) {
      const auto entry = load_le<std::int64_t>(piece.data() + i);
      const bool is_new = entry < 0 ? has_known_code(entry) : stored.insert(entry).second;
      if (!is_new || stored.size() > most) return std::nullopt;
      entries.push_back(entry);
    }
  }
  return entries;
}

// The number of entries that lead to a chunk, and the number that should.
struct StartsFound {
  std::uint64_t hits = 0;
  std::uint64_t stored = 0;
  [[nodiscard]] bool is_good() const noexcept { return hits >= stored - stored / 2; }
};

template <class Place>
StartsFound match_with(const std::vector<std::int64_t>& entries, const Starts& starts,
                       Place place) {
  StartsFound match;
  for (const auto entry : entries) {
    if (entry < 0) continue;
    ++match.stored;
    if (starts.contains(place(static_cast<std::uint64_t>(entry)))) ++match.hits;
  }
  return match;
}

// Returns the possible bases of the entries of an index at `index_at`.  Without a header, the
// lowest entry is tried for each found chunk, and each of the low entries for the first one: the
// chunks before it may be lost.  An index is written behind the chunks that it names.
std::vector<std::uint64_t> bases_for(const std::vector<std::int64_t>& entries,
                                     std::uint64_t index_at,
                                     const std::optional<FrameHeader>& header,
                                     const std::vector<FoundChunk>& found) {
  if (header) return {header->header_len};
  std::vector<std::uint64_t> lowest;
  std::uint64_t highest = 0;
  for (const auto entry : entries) {
    if (entry < 0) continue;
    lowest.push_back(static_cast<std::uint64_t>(entry));
    highest = std::max(highest, lowest.back());
  }
  const auto count = std::min(lowest.size(), kMaxBases);
  std::ranges::partial_sort(lowest, lowest.begin() + static_cast<std::ptrdiff_t>(count));
  lowest.resize(count);
  std::vector<std::uint64_t> bases;
  const auto add = [&](std::uint64_t at, std::uint64_t entry) {
    if (at < entry || at - entry < kFrameFixedHeaderBytes) return;
    const auto base = at - entry;
    if (base <= index_at && highest < index_at - base) bases.push_back(base);
  };
  for (const auto& chunk : found | std::views::take(kMaxBases)) {
    add(chunk.stored.offset, lowest.empty() ? 0 : lowest.front());
  }
  for (const auto entry : lowest) add(found.front().stored.offset, entry);
  return bases;
}

// Whether an index chunk has as many entries as the frame has chunks.
bool has_entry_for_each_chunk(const ChunkHeader& index, const FrameHeader& header) {
  const auto count = index.nbytes / kIndexEntryBytes;
  return header.chunksize > 0 && div_ceil<std::uint64_t>(header.nbytes, header.chunksize) == count;
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

std::optional<std::vector<std::int64_t>> read_own_index(const ByteSource& file,
                                                        const FrameHeader& header,
                                                        const std::vector<FoundChunk>& found,
                                                        const Limits& limits) {
  const auto at = header.header_len + header.cbytes;
  const auto own =
      std::ranges::find(found, at, [](const auto& chunk) { return chunk.stored.offset; });
  if (own == found.end() || !may_hold_index(own->header) || repeats_entry(own->header) ||
      !has_entry_for_each_chunk(own->header, header)) {
    return std::nullopt;
  }
  return read_index(file, *own, own->header.nbytes / kIndexEntryBytes, limits);
}

Result<IndexSearch> find_index(const ByteSource& file, const std::optional<FrameHeader>& header,
                               const std::vector<FoundChunk>& found, const Limits& limits,
                               const ScanProgress& progress) {
  FRAMEFS_TRY(const auto file_size, file.size());
  const auto is_ended = [&] { return progress && !progress(file_size); };
  IndexSearch search;
  Starts starts;
  for (const auto& chunk : found) starts.insert(chunk.stored.offset);
  const auto own_at = header ? header->header_len + header->cbytes : 0;
  std::tuple<bool, bool, std::uint64_t, std::uint64_t> best;
  // From the last chunk to the first: of indexes that rank alike, only one is read.
  for (const auto& chunk : std::ranges::reverse_view(found)) {
    const auto [at, size] = chunk.stored;
    if (!may_hold_index(chunk.header)) continue;
    if (is_ended()) return scan_ended();
    const bool is_own = header && at == own_at;
    const bool ends_frame = is_before_trailer(file, at + size);
    const bool fits_header = is_own && has_entry_for_each_chunk(chunk.header, *header);
    if (fits_header || ends_frame) search.places.insert(at);
    if (!search.last && (header ? fits_header : ends_frame)) search.last = chunk.stored;
    const auto rank_with = [&](std::uint64_t hits) {
      return std::tuple(is_own, ends_frame, hits, at);
    };
    // Data can look like an index without stored chunks.  Only the place tells the two apart.
    const bool has_place = is_own || ends_frame;
    if (repeats_entry(chunk.header) && (!has_place || (search.best && rank_with(0) <= best))) {
      continue;
    }
    auto entries = read_index(file, chunk, most_stored(starts), limits);
    if (!entries) continue;
    StartsFound match;
    std::uint64_t base = 0;
    for (const auto candidate : bases_for(*entries, at, header, found)) {
      if (is_ended()) return scan_ended();
      const auto with =
          match_with(*entries, starts, [&](std::uint64_t entry) { return candidate + entry; });
      if (with.hits <= match.hits && match.stored > 0) continue;
      match = with;
      base = candidate;
      if (match.hits == match.stored) break;
    }
    if (!match.is_good() || (match.stored == 0 && !has_place)) continue;
    search.places.insert(at);
    const auto rank = rank_with(match.hits);
    if (search.best && rank <= best) continue;
    best = rank;
    search.best = FoundIndex{.at = at,
                             .end = at + size,
                             .base = base,
                             .is_current = is_own || (search.last && search.last->offset == at),
                             .entries = std::move(*entries)};
  }
  return search;
}

Result<std::optional<FoundIndex>> find_sparse_index(const ByteSource& file,
                                                    const std::vector<FoundChunk>& found,
                                                    const std::vector<FoundChunk>& chunk_files,
                                                    const Limits& limits,
                                                    const ScanProgress& progress) {
  FRAMEFS_TRY(const auto file_size, file.size());
  Starts starts;
  for (const auto& chunk : chunk_files) starts.insert(chunk.stored.offset);
  for (const auto& chunk : found) {
    if (!may_hold_index(chunk.header)) continue;
    if (progress && !progress(file_size)) return scan_ended();
    auto entries = read_index(file, chunk, most_stored(starts), limits);
    if (!entries) continue;
    const auto match = match_with(*entries, starts, [](std::uint64_t id) {
      return id > kMaxChunkFileId ? ~std::uint64_t{0}
                                  : chunk_file_at(static_cast<std::uint32_t>(id));
    });
    if (!match.is_good()) continue;
    // An index file holds one index.
    return FoundIndex{.at = chunk.stored.offset,
                      .end = chunk.stored.offset + chunk.stored.size,
                      .base = 0,
                      .is_current = true,
                      .entries = std::move(*entries)};
  }
  return std::nullopt;
}

}  // namespace framefs::codec

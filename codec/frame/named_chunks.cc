#include "codec/frame/named_chunks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

#include "codec/frame/index_search.h"

namespace framefs::codec {
namespace {

// Returns the decoded size of each chunk of a frame: all but the last have the chunk size.
std::uint32_t chunk_nbytes(const FrameHeader& header, std::uint64_t chunk) {
  const auto left = header.nbytes - chunk * header.chunksize;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, header.chunksize));
}

bool is_within(std::uint64_t at, const ByteRange& range) {
  return at >= range.offset && at - range.offset < range.size;
}

// Whether a chunk that was found without an index has the byte `at`.
bool is_found_within(std::uint64_t at, const FoundChunk& chunk) {
  return chunk.is_decoded && !chunk.has_certain_place && is_within(at, chunk.stored);
}

}  // namespace

Status add_named_chunks(const ByteSource& file, const FrameHeader& header,
                        const ChunkContext& context, const Limits& limits,
                        const ScanProgress& progress, std::vector<FoundChunk>& found) {
  if (header.has_variable_chunks()) return {};
  const auto entries = read_own_index(file, header, found, limits);
  if (!entries) return {};
  FRAMEFS_TRY(const auto size, file.size());
  std::unordered_set<std::uint64_t> named;
  for (const auto entry : *entries) {
    if (entry >= 0) named.insert(header.header_len + static_cast<std::uint64_t>(entry));
  }
  std::map<std::uint64_t, FoundChunk> by_place;
  for (auto& chunk : found) by_place.emplace(chunk.stored.offset, std::move(chunk));
  found.clear();
  for (std::uint64_t i = 0; i < entries->size(); ++i) {
    const auto entry = (*entries)[i];
    if (entry < 0 || std::cmp_greater_equal(entry, header.cbytes)) continue;
    const auto at = header.header_len + static_cast<std::uint64_t>(entry);
    const auto next = by_place.lower_bound(at);
    if (next != by_place.end() && next->first == at) continue;
    if (next != by_place.begin() && is_found_within(at, std::prev(next)->second)) continue;
    if (progress && !progress(size)) return scan_ended();
    auto chunk = readable_chunk_at(file, at, header.cbytes - static_cast<std::uint64_t>(entry),
                                   chunk_nbytes(header, i), context, limits);
    if (!chunk) continue;
    auto inner = next;
    while (inner != by_place.end() && is_within(inner->first, chunk->stored)) {
      inner = named.contains(inner->first) ? std::next(inner) : by_place.erase(inner);
    }
    by_place.emplace(at, std::move(*chunk));
  }
  for (auto& [at, chunk] : by_place) found.push_back(std::move(chunk));
  return {};
}

}  // namespace framefs::codec

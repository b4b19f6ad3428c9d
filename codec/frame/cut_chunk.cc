#include "codec/frame/cut_chunk.h"

#include <cstdint>
#include <utility>

namespace framefs::codec {
namespace {

// The end of the chunks that follow each other from the header on.
std::uint64_t end_of_row(const FrameHeader& header, const std::vector<FoundChunk>& found) {
  std::uint64_t end = header.header_len;
  for (const auto& chunk : found) {
    if (chunk.stored.offset == end) end += chunk.stored.size;
  }
  return end;
}

// Returns whether a chunk of the frame can have this number of decoded bytes.
bool is_size_of_chunk(const FrameHeader& header, std::uint32_t nbytes) {
  if (nbytes == header.chunksize) return true;
  return header.chunksize > 0 && nbytes > 0 && nbytes == header.nbytes % header.chunksize;
}

}  // namespace

Status add_cut_chunk(const ByteSource& file, const FrameHeader& header, const ChunkContext& context,
                     const Limits& limits, std::vector<FoundChunk>& found) {
  FRAMEFS_TRY(const auto size, file.size());
  const auto at = end_of_row(header, found);
  const auto stored = at - header.header_len;
  const bool is_cut = size < header.frame_len && at < size && stored < header.cbytes;
  if (!is_cut || header.has_variable_chunks()) return {};
  auto cut = readable_chunk_at(file, at, header.cbytes - stored, 0, context, limits);
  const bool ends_here = cut && cut->stored.size > size - at;
  if (!ends_here || !is_size_of_chunk(header, cut->header.nbytes)) return {};
  std::erase_if(found, [at](const FoundChunk& chunk) { return chunk.stored.offset > at; });
  found.push_back(std::move(*cut));
  return {};
}

}  // namespace framefs::codec

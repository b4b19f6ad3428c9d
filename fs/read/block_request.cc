#include "fs/read/block_request.h"

#include <algorithm>

#include "codec/compressor/stream_decoder.h"

namespace framefs::fs {

CacheKey BlockRequest::key() const {
  return {.content = content,
          .chunk = chunk_index.value,
          .block = static_cast<std::uint32_t>(block.value),
          .kind = group ? CacheKind::chunk_group : CacheKind::block};
}

std::uint64_t BlockRequest::decoded_bytes() const {
  return group ? group->nbytes() : chunk->block_range(block).size;
}

// The offset of the chunk in the source.
std::uint64_t BlockRequest::chunk_offset() const {
  return chunk->plain_offset() - chunk->header().header_bytes();
}

codec::Result<ByteRange> BlockRequest::stored() const {
  auto range = group ? group->stored() : chunk->stored_range(block);
  if (!range) range.error().at += chunk_offset();
  return range;
}

bool BlockRequest::needs_first_block() const {
  return !group && block.value != 0 && chunk->needs_first_block();
}

bool BlockRequest::stops_early() const {
  return codec::StreamDecoder::stops_early(chunk->stream_format(), chunk->dictionary());
}

codec::Status BlockRequest::decode(codec::BlockDecoder& decoder, std::uint64_t offset,
                                   std::span<const std::byte> stored, std::span<std::byte> out,
                                   std::span<const std::byte> first) const {
  const bool is_part = used_bytes < out.size() && codec::BlockDecoder::has_parts(*chunk);
  auto decoded = is_part ? decoder.decode_part(*chunk, block, stored, out, {0, used_bytes})
                         : decoder.decode(*chunk, block, stored, out, first);
  if (decoded && is_part) std::ranges::fill(out.subspan(used_bytes), std::byte{0});
  if (decoded) return {};
  auto error = decoded.error();
  error.at += error.kind == codec::Errc::unsupported ? chunk_offset() : offset;
  return std::unexpected(error);
}

std::uint64_t needed_bytes(std::span<const BlockRequest> requests) {
  std::uint64_t sum = 0;
  for (const auto& request : requests) {
    sum += request.decoded_bytes() + DecodeCache::kOverheadBytes;
    if (request.needs_first_block()) {
      sum += request.chunk->block_range({0}).size + DecodeCache::kOverheadBytes;
    }
  }
  return sum;
}

}  // namespace framefs::fs

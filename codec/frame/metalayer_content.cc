#include "codec/frame/metalayer_content.h"

#include <algorithm>
#include <array>
#include <span>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_header.h"
#include "codec/chunk/chunk_reader.h"

namespace framefs::codec {

Status check_vlmetalayers(const ByteSource& trailer, std::uint64_t trailer_at,
                          const std::vector<Metalayer>& layers) {
  std::vector<std::array<std::byte, kExtendedHeaderBytes>> heads(layers.size());
  std::vector<ByteSource::Read> reads;
  reads.reserve(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& [at, size] = layers[i].content;
    const auto head = std::span(heads[i]).first(std::min<std::uint64_t>(size, heads[i].size()));
    reads.push_back({at - trailer_at, head});
  }
  FRAMEFS_CHECK(trailer.read_ranges(reads));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& [at, size] = layers[i].content;
    const auto chunk = parse_chunk_header(reads[i].out, size);
    if (!chunk) return fail_of_part(chunk.error(), at);
    if (chunk->cbytes != size) {
      return fail_value(Errc::bad_field, "cbytes of a vl-metalayer", at + 12, chunk->cbytes);
    }
  }
  return {};
}

Result<std::vector<std::byte>> read_metalayer(const ByteSource& source, const Metalayer& layer) {
  std::vector<std::byte> content(layer.content.size);
  FRAMEFS_CHECK(source.read_at(layer.content.offset, content));
  return content;
}

Result<std::vector<std::byte>> read_vlmetalayer(const ByteSource& source, const Metalayer& layer,
                                                const Limits& limits) {
  const auto [at, size] = layer.content;
  const auto chunk = Chunk::open(source, at, size, {}, limits);
  if (!chunk) return fail_of_part(chunk.error(), at);
  if (chunk->nbytes() > limits.vlmeta_bytes) {
    return fail_value(Errc::over_limit, "nbytes of a vl-metalayer", at + 4, chunk->nbytes());
  }
  std::vector<std::byte> content(chunk->nbytes());
  if (const auto read = ChunkReader(source, *chunk).read(0, content); !read) {
    return fail_of_part(read.error(), at);
  }
  return content;
}

}  // namespace framefs::codec

// Intent: any bytes as one chunk, loose or of an array.  open() and all ways of decoding stay
// within the limits.  No block and no part of a block depends on the bytes of another file, which
// the decoder and the destination held before.  If the chunk decodes, it equals its blocks, any
// sub-range, and any part of a block, each decoded separately.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_context.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "tests/support/decode_oracle.h"

namespace {

using namespace framefs;

// Small enough that a lying header cannot exhaust the fuzzer's memory.
constexpr std::uint32_t kMaxDecodedBytes = 1u << 20;

codec::Limits small_limits() {
  codec::Limits limits;
  limits.block_bytes = kMaxDecodedBytes;
  limits.chunk_table_bytes = 64u << 10;
  return limits;
}

void demand(bool holds) {
  if (!holds) std::abort();
}

// A context of an array, so that plugin filters and codecs are used.  The array's blocks have the
// chunk's block size; a header byte that readers ignore gives the number of dimensions.
codec::ChunkContext array_of(std::span<const std::byte> bytes) {
  constexpr std::size_t kVersionlzAt = 1;
  const auto head = bytes.first(std::min<std::size_t>(bytes.size(), 32));
  const auto header = codec::parse_chunk_header(head, bytes.size());
  if (!header) return {};
  codec::BlockShape shape;
  shape.ndim = std::to_integer<std::uint8_t>(bytes[kVersionlzAt]) % 10;
  shape.dims.fill(1);
  std::uint32_t items = header->blocksize / header->typesize;
  for (std::size_t dim = shape.ndim; dim-- > 1;) {
    for (std::uint32_t divisor = 4; divisor <= 16 && shape.dims[dim] == 1; ++divisor) {
      if (items % divisor == 0) shape.dims[dim] = divisor;
    }
    items /= shape.dims[dim];
  }
  shape.dims[0] = items;
  return {.schunk_typesize = header->typesize, .block_shape = shape};
}

void check_chunk(std::span<const std::byte> bytes, const codec::ChunkContext& context) {
  const codec::MemorySource source(bytes);
  const auto chunk = codec::Chunk::open(source, 0, bytes.size(), context, small_limits());
  if (!chunk || chunk->nbytes() > kMaxDecodedBytes) return;
  demand(chunk->memory_bytes() < (1u << 20));

  const auto whole = test::decode_whole(source, *chunk);
  const auto blocks = test::decode_by_blocks(source, *chunk);
  demand(whole.has_value() == blocks.has_value());
  std::mt19937 random(static_cast<std::uint32_t>(bytes.size()));
  if (!whole) {
    demand(whole.error().kind != codec::Errc::internal);
    demand(blocks.error().kind != codec::Errc::internal);
    demand(test::parts_agree(source, *chunk, {}, random, 4));
    return;
  }
  demand(*whole == *blocks);
  demand(test::subranges_agree(source, *chunk, *whole, random, 4));
  demand(test::parts_agree(source, *chunk, *whole, random, 4));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_chunk(bytes, {});
  check_chunk(bytes, array_of(bytes));
  return 0;
}

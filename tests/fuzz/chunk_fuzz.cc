// Intent: any bytes as one chunk: open() and every way of decoding stay within the limits, and
// where the whole decodes, it equals its blocks one by one and any sub-range of it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>

#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "tests/support/decode_oracle.h"

namespace {

using namespace framefs;

// Small enough that a lying header cannot make the fuzzer itself run out of memory.
constexpr std::uint32_t kMostDecodedBytes = 1u << 20;

codec::Limits small_limits() {
  codec::Limits limits;
  limits.block_bytes = kMostDecodedBytes;
  limits.chunk_table_bytes = 64u << 10;
  return limits;
}

void demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const codec::MemorySource source(bytes);
  const auto chunk = codec::Chunk::open(source, 0, size, 0, small_limits());
  if (!chunk || chunk->nbytes() > kMostDecodedBytes) return 0;
  demand(chunk->memory_bytes() < (1u << 20));

  const auto whole = test::decode_whole(source, *chunk);
  const auto blocks = test::decode_by_blocks(source, *chunk);
  demand(whole.has_value() == blocks.has_value());
  if (!whole) {
    demand(whole.error().kind != codec::Errc::internal);
    return 0;
  }
  demand(*whole == *blocks);
  std::mt19937 random(static_cast<std::uint32_t>(size));
  demand(test::subranges_agree(source, *chunk, *whole, random, 4));
  return 0;
}

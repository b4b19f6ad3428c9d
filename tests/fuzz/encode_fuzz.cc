// Intent: any parameters and any bytes for the chunk encoder.  The encoder refuses the parameters,
// or writes a chunk that has at most the announced size.  This chunk decodes to the same bytes:
// whole, block by block, any sub-range and any part of a block.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_encoder.h"
#include "codec/core/byte_reader.h"
#include "codec/core/byte_source.h"
#include "codec/filter/filter_ids.h"
#include "tests/support/bytes.h"
#include "tests/support/decode_oracle.h"

namespace {

using namespace framefs;
using codec::CodecId;
using codec::EncodeParams;
using codec::FilterSlots;
using test::Bytes;

constexpr std::size_t kMaxPlainBytes = 64u << 10;

void demand(bool holds) {
  if (!holds) std::abort();
}

std::size_t number(std::byte byte) { return std::to_integer<std::size_t>(byte); }

// The filters that lose no bits, and an id that is not one.
FilterSlots filters_of(std::byte first, std::byte second, std::uint8_t meta) {
  constexpr std::array kIds = {codec::filter_id::kNone,       codec::filter_id::kShuffle,
                               codec::filter_id::kBitshuffle, codec::filter_id::kDelta,
                               codec::filter_id::kBytedelta,  codec::filter_id::kFirstReserved};
  FilterSlots slots{};
  slots[4] = {kIds[number(first) % kIds.size()], 0};
  slots[5] = {kIds[number(second) % kIds.size()], meta};
  return slots;
}

struct Input {
  EncodeParams params;
  Bytes plain;
};

// Ten bytes of parameters; the rest is the data, repeated.
Input input_of(std::span<const std::byte> bytes) {
  constexpr std::array kCodecs = {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib,
                                  CodecId::zstd};
  constexpr std::array kSplits = {codec::SplitMode::always, codec::SplitMode::never,
                                  codec::SplitMode::automatic,
                                  codec::SplitMode::forward_compatible};
  Input input;
  auto& params = input.params;
  params.codec = kCodecs[number(bytes[0]) % kCodecs.size()];
  params.clevel = static_cast<int>(number(bytes[1]) % 11);
  // Sizes above 255 stand in the frame only.
  params.typesize =
      static_cast<std::uint32_t>(number(bytes[2]) + (number(bytes[3]) == 0 ? 256 : 0));
  params.filters = filters_of(bytes[3], bytes[4], codec::load_le<std::uint8_t>(&bytes[5]));
  params.blocksize = codec::load_le<std::uint16_t>(&bytes[6]);
  params.split = kSplits[number(bytes[8]) % kSplits.size()];
  params.use_dict = number(bytes[8]) >= 128;
  params.omit_zero_chunks = false;
  const auto data = bytes.subspan(10);
  const std::size_t times = data.empty() ? 0 : 1 + number(bytes[9]);
  for (std::size_t i = 0; i < times && input.plain.size() < kMaxPlainBytes; ++i) {
    test::append(input.plain, data);
  }
  if (input.plain.size() > kMaxPlainBytes) input.plain.resize(kMaxPlainBytes);
  return input;
}

void check_decodes(std::span<const std::byte> chunk_bytes, const Input& input) {
  const auto& plain = input.plain;
  const codec::MemorySource source(chunk_bytes);
  const auto chunk = codec::Chunk::open(
      source, 0, chunk_bytes.size(), {.schunk_typesize = input.params.typesize}, codec::Limits{});
  demand(chunk.has_value() && chunk->header().cbytes == chunk_bytes.size());
  const auto whole = test::decode_whole(source, *chunk);
  demand(whole && *whole == plain);
  const auto blocks = test::decode_by_blocks(source, *chunk);
  demand(blocks && *blocks == plain);
  std::mt19937 random(static_cast<std::uint32_t>(plain.size()));
  demand(test::subranges_agree(source, *chunk, plain, random, 4));
  demand(test::parts_agree(source, *chunk, plain, random, 4));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kParamBytes = 10;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (bytes.size() < kParamBytes) return 0;
  const Input input = input_of(bytes);
  const std::size_t room = codec::ChunkPlan::max_bytes(input.plain.size());
  Bytes chunk(room);
  codec::ChunkEncoder encoder;
  const auto encoded = encoder.encode(input.params, input.plain, chunk);
  if (!encoded) {
    demand(encoded.error().kind == codec::Errc::bad_field ||
           encoded.error().kind == codec::Errc::unsupported);
    demand(!codec::check_params(input.params));
    return 0;
  }
  demand(*encoded > 0 && *encoded <= room);
  check_decodes(std::span(chunk).first(*encoded), input);
  return 0;
}

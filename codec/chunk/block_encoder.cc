#include "codec/chunk/block_encoder.h"

#include <cstring>

#include "codec/core/byte_writer.h"

namespace framefs::codec {

Result<std::size_t> BlockEncoder::encode(const ChunkPlan& plan, BlockIndex block,
                                         std::span<const std::byte> plain,
                                         std::span<std::byte> out) {
  const auto& filters = plan.filters();
  const auto scratch_bytes = filters.is_identity() ? 0 : plain.size();
  const auto filtered =
      filters.encode(plain, first_.take(scratch_bytes), second_.take(scratch_bytes));
  const auto stream_bytes = filtered.size() / plan.stream_count(block);
  std::size_t at = 0;
  for (std::size_t begin = 0; begin < filtered.size(); begin += stream_bytes) {
    FRAMEFS_TRY(const auto size,
                encode_stream(plan, filtered.subspan(begin, stream_bytes), out.subspan(at)));
    at += size;
  }
  return at;
}

// Source: chunk format, "Streams".  A stream takes at most four bytes more than its plain bytes.
Result<std::size_t> BlockEncoder::encode_stream(const ChunkPlan& plan,
                                                std::span<const std::byte> plain,
                                                std::span<std::byte> out) {
  constexpr std::size_t kHead = sizeof(std::int32_t);
  constexpr std::byte kTokenRun{0x01};
  if (std::memcmp(plain.data(), plain.data() + 1, plain.size() - 1) == 0) {
    store_le(out.data(), -std::to_integer<std::int32_t>(plain[0]));
    if (plain[0] == std::byte{0}) return kHead;
    out[kHead] = kTokenRun;
    return kHead + 1;
  }
  // The codec gets the same room wherever the block is placed, so that its result is always the
  // same.  A stream as large as its plain bytes would be read as raw bytes; hence one byte less.
  const auto& params = plan.params();
  const auto room = out.subspan(kHead, plain.size() - 1);
  FRAMEFS_TRY(auto size,
              streams_.encode(params.codec, params.clevel, plain, room, plan.dictionary()));
  if (size == 0) {
    size = plain.size();
    std::memcpy(out.data() + kHead, plain.data(), size);
  }
  store_le(out.data(), static_cast<std::int32_t>(size));
  return kHead + size;
}

}  // namespace framefs::codec

#include "codec/chunk/block_decoder.h"

#include <algorithm>
#include <utility>

#include "codec/core/byte_reader.h"

namespace framefs::codec {
namespace {

// Moves a failure inside one stream to its place in the block.
std::unexpected<Error> within(Error error, std::uint64_t stream_at) {
  error.at += stream_at;
  return std::unexpected(error);
}

// A negative stream size: one byte value repeated.  Source: chunk format, "streams".
Status decode_run(ByteReader& in, std::int32_t csize, std::span<std::byte> out) {
  constexpr std::int32_t kLowestRun = -255;
  constexpr std::uint8_t kTokenRun = 0x01;
  const auto at = in.position() - sizeof(csize);
  if (csize < kLowestRun) return fail_value(Errc::bad_field, "stream size", at, csize);
  FRAMEFS_TRY(const auto token, in.u8("stream token"));
  if ((token & kTokenRun) == 0) return fail_value(Errc::bad_field, "stream token", at + 4, token);
  std::ranges::fill(out, static_cast<std::byte>(-csize));
  return {};
}

}  // namespace

Status BlockDecoder::decode(const Chunk& chunk, BlockIndex block, std::span<const std::byte> stored,
                            std::span<std::byte> out, std::span<const std::byte> first_block) {
  const auto& filters = chunk.filters();
  const auto spare = filters.needs_scratch() ? scratch_.take(out.size()) : std::span<std::byte>{};
  const auto filtered = filters.input(out, spare);
  const auto streams = chunk.stream_count(block);
  auto decoded = chunk.header().vl_blocks ? decode_vl_stream(chunk, stored, filtered)
                                          : decode_streams(chunk, streams, stored, filtered);
  if (!decoded && chunk.split_is_ambiguous() && streams > 1) {
    decoded = decode_streams(chunk, 1, stored, filtered);
  }
  FRAMEFS_CHECK(decoded);
  filters.decode(out, spare, first_block);
  return {};
}

// Source: chunk format, "streams"; a block is its streams, one after the other.
Status BlockDecoder::decode_streams(const Chunk& chunk, std::uint32_t stream_count,
                                    std::span<const std::byte> stored, std::span<std::byte> plain) {
  if (plain.size() % stream_count != 0) {
    return fail_value(Errc::bad_field, "block size of a split block", 0,
                      static_cast<std::int64_t>(plain.size()));
  }
  const std::size_t stream_bytes = plain.size() / stream_count;
  ByteReader in(stored);
  for (std::uint32_t stream = 0; stream < stream_count; ++stream) {
    const auto out = plain.subspan(stream * stream_bytes, stream_bytes);
    FRAMEFS_TRY(const auto csize, in.le<std::int32_t>("stream size"));
    if (csize == 0) {
      std::ranges::fill(out, std::byte{0});
      continue;
    }
    if (csize < 0) {
      FRAMEFS_CHECK(decode_run(in, csize, out));
      continue;
    }
    const auto begin = in.position();
    FRAMEFS_TRY(const auto payload, in.take(static_cast<std::size_t>(csize), "stream"));
    if (payload.size() == out.size()) {  // before the codec is asked: raw bytes
      std::copy_n(payload.data(), payload.size(), out.data());
      continue;
    }
    const auto done = streams_.decode(chunk.header().codec, payload, out, chunk.dictionary());
    if (!done) return within(done.error(), begin);
  }
  return {};
}

// Source: chunk format, "variable-length blocks": the decoded size, then the one stream to the end.
Status BlockDecoder::decode_vl_stream(const Chunk& chunk, std::span<const std::byte> stored,
                                      std::span<std::byte> plain) {
  ByteReader in(stored);
  FRAMEFS_TRY(const auto size, in.le<std::int32_t>("block size"));
  // Read a second time, from a file that others may change meanwhile.
  if (std::cmp_not_equal(size, plain.size())) {
    return fail_value(Errc::bad_field, "block size", 0, size);
  }
  const auto begin = in.position();
  FRAMEFS_TRY(const auto payload, in.take(in.remaining(), "stream"));
  if (payload.size() == plain.size()) {
    std::copy_n(payload.data(), payload.size(), plain.data());
    return {};
  }
  const auto done = streams_.decode(chunk.header().codec, payload, plain, chunk.dictionary());
  if (!done) return within(done.error(), begin);
  return {};
}

}  // namespace framefs::codec

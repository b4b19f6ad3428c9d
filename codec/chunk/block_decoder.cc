#include "codec/chunk/block_decoder.h"

#include <algorithm>
#include <utility>

#include "codec/core/byte_reader.h"
#include "codec/core/work_budget.h"

namespace framefs::codec {
namespace {

// Converts the offset of a failure in a stream to an offset in the block.  For a missing codec, the
// offset refers to the chunk's header and stays.
std::unexpected<Error> within(Error error, std::uint64_t stream_at) {
  if (error.kind != Errc::unsupported) error.at += stream_at;
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
  FRAMEFS_CHECK(spend_work(out.size()));
  const auto& filters = chunk.filters();
  FRAMEFS_CHECK(filters.check_block(out.size()));
  const auto spare = filters.needs_scratch() ? scratch_.take(out.size()) : std::span<std::byte>{};
  const auto filtered = filters.input(out, spare);
  const auto streams = chunk.stream_count(block);
  auto decoded = chunk.header().vl_blocks ? decode_vl_stream(chunk, stored, filtered)
                                          : decode_streams(chunk, streams, stored, filtered, {});
  const bool may_be_unsplit = !decoded && chunk.split_is_ambiguous() && streams > 1;
  if (may_be_unsplit && decode_unsplit(chunk, stored, filtered)) decoded = {};
  FRAMEFS_CHECK(decoded);
  filters.decode(out, spare, first_block);
  return {};
}

bool BlockDecoder::has_parts(const Chunk& chunk) {
  return !chunk.header().vl_blocks && !chunk.split_is_ambiguous() && !chunk.needs_first_block();
}

Status BlockDecoder::decode_part(const Chunk& chunk, BlockIndex block,
                                 std::span<const std::byte> stored, std::span<std::byte> out,
                                 ByteRange part) {
  FRAMEFS_CHECK(spend_work(out.size()));
  const auto& filters = chunk.filters();
  FRAMEFS_CHECK(filters.check_block(out.size()));
  const auto spare = filters.needs_scratch() ? scratch_.take(out.size()) : std::span<std::byte>{};
  FRAMEFS_CHECK(decode_streams(chunk, chunk.stream_count(block), stored, filters.input(out, spare),
                               {&filters, part}));
  filters.decode_part(out, spare, part);
  return {};
}

std::size_t BlockDecoder::Wanted::prefix(std::size_t block_bytes, std::size_t count,
                                         std::size_t stream) const {
  if (filters == nullptr) return block_bytes / count;
  return filters->needed_prefix(part, block_bytes, count, stream);
}

// Source: chunk format, "streams".  A block consists of its streams, one after the other.
Status BlockDecoder::decode_streams(const Chunk& chunk, std::uint32_t stream_count,
                                    std::span<const std::byte> stored, std::span<std::byte> plain,
                                    const Wanted& wanted) {
  if (plain.size() % stream_count != 0) {
    return fail_value(Errc::bad_field, "block size of a split block", 0,
                      static_cast<std::int64_t>(plain.size()));
  }
  const std::size_t stream_bytes = plain.size() / stream_count;
  ByteReader in(stored);
  for (std::uint32_t stream = 0; stream < stream_count; ++stream) {
    FRAMEFS_CHECK(decode_stream(chunk, in, plain.subspan(stream * stream_bytes, stream_bytes),
                                wanted.prefix(plain.size(), stream_count, stream)));
  }
  return {};
}

// The only stream of a block takes all that is stored of it.  Otherwise, a damaged size of the
// first stream of several could pass for a block that is not split.
Status BlockDecoder::decode_unsplit(const Chunk& chunk, std::span<const std::byte> stored,
                                    std::span<std::byte> plain) {
  ByteReader in(stored);
  FRAMEFS_CHECK(decode_stream(chunk, in, plain, plain.size()));
  if (in.remaining() > 0) return fail(Errc::bad_field, "bytes behind a stream", in.position());
  return {};
}

// Decodes the first `count` bytes of `out` from the next stream of `in`.
Status BlockDecoder::decode_stream(const Chunk& chunk, ByteReader& in, std::span<std::byte> out,
                                   std::size_t count) {
  FRAMEFS_TRY(const auto csize, in.le<std::int32_t>("stream size"));
  const auto head = out.first(count);
  if (csize == 0) {
    std::ranges::fill(head, std::byte{0});
    return {};
  }
  if (csize < 0) return decode_run(in, csize, head);
  const auto begin = in.position();
  FRAMEFS_TRY(const auto payload, in.take(static_cast<std::size_t>(csize), "stream"));
  if (count == 0 && !out.empty()) return {};
  if (payload.size() == out.size()) {  // raw bytes, whatever the codec
    std::copy_n(payload.data(), count, out.data());
    return {};
  }
  const auto done =
      streams_.decode_prefix(chunk.stream_format(), payload, out, count, chunk.dictionary());
  if (!done) return within(done.error(), begin);
  return {};
}

// Source: chunk format, "variable-length blocks": the decoded size, then one stream to the end.
Status BlockDecoder::decode_vl_stream(const Chunk& chunk, std::span<const std::byte> stored,
                                      std::span<std::byte> plain) {
  ByteReader in(stored);
  FRAMEFS_TRY(const auto size, in.le<std::int32_t>("block size"));
  // The size is read again from a file that others may have changed since open().
  if (std::cmp_not_equal(size, plain.size())) {
    return fail_value(Errc::bad_field, "block size", 0, size);
  }
  const auto begin = in.position();
  FRAMEFS_TRY(const auto payload, in.take(in.remaining(), "stream"));
  if (payload.size() == plain.size()) {
    std::copy_n(payload.data(), payload.size(), plain.data());
    return {};
  }
  const auto done = streams_.decode(chunk.stream_format(), payload, plain, chunk.dictionary());
  if (!done) return within(done.error(), begin);
  return {};
}

}  // namespace framefs::codec

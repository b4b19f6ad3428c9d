#include "fs/net/sequential_streams.h"

#include <algorithm>

namespace framefs::net {
namespace {

// A gap up to this size is no jump.  Empty blocks and a chunk's header cause small gaps.
constexpr std::uint64_t kProofGapBytes = 16 << 10;
// Parallel decoding threads read somewhat out of order.  This gap is allowed once a reader is known
// to be sequential.
constexpr std::uint64_t kDisorderBytes = 4 << 20;

}  // namespace

auto SequentialStreams::stream_for(ByteRange range) -> Stream& {
  for (auto& stream : streams_) {
    if (stream.proofs == 0) continue;
    const bool is_proven = stream.proofs >= kProofs;
    const auto before = is_proven ? kDisorderBytes : 0;
    const auto after = is_proven ? kDisorderBytes : kProofGapBytes;
    if (range.offset + before >= stream.end && range.offset <= stream.end + after) return stream;
  }
  auto& oldest = *std::ranges::min_element(streams_, {}, &Stream::used);
  oldest = {.end = range.offset};
  return oldest;
}

auto SequentialStreams::note(ByteRange range, std::uint64_t size, std::uint64_t max_window_bytes)
    -> Found {
  auto& stream = stream_for(range);
  stream.used = ++notes_;
  stream.proofs = std::min(stream.proofs + 1, kProofs);
  stream.end = std::max(stream.end, range.offset + range.size);
  if (stream.proofs < kProofs) return {};

  stream.ahead_to = std::max(stream.ahead_to, stream.end);
  // When the reader has read half of the last window, the next window is twice as large.
  if (stream.window_bytes > 0 && stream.ahead_to - stream.end > stream.window_bytes / 2) {
    return {.is_sequential = true, .ahead = {}};
  }
  const auto wished = stream.window_bytes == 0 ? kFirstWindowBytes : 2 * stream.window_bytes;
  stream.window_bytes = std::max<std::uint64_t>(1, std::min(wished, max_window_bytes));
  const auto to = std::min(size, stream.end + stream.window_bytes);
  if (to <= stream.ahead_to) return {.is_sequential = true, .ahead = {}};
  const ByteRange ahead{stream.ahead_to, to - stream.ahead_to};
  stream.ahead_to = to;
  return {.is_sequential = true, .ahead = ahead};
}

}  // namespace framefs::net

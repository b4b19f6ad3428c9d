#include "fs/net/cache/sequential_streams.h"

#include <algorithm>

namespace framefs::net {
namespace {

// A gap up to this size is no jump.  Empty blocks and a chunk's header cause small gaps.
constexpr std::uint64_t kProofGapBytes = 16 << 10;
// The window is filled up in steps of this size, and of a share of a large window, so that the
// requests are few and the window is nearly full all the time.
constexpr std::uint64_t kStepBytes = 1 << 20;
constexpr std::uint64_t kStepsPerWindow = 8;
// A smaller step is not worth a request, even if no more may be fetched now.
constexpr std::uint64_t kMinStepBytes = 256 << 10;
// The beginning of an object: a frame's header, and the first blocks.
constexpr std::uint64_t kBeginBytes = 64 << 10;
// Parallel decoding threads read somewhat out of order.  This gap is allowed once a reader is known
// to be sequential.
constexpr std::uint64_t kDisorderBytes = 4 << 20;

}  // namespace

bool SequentialStreams::Stream::has_read_beginning() const {
  return begin < kBeginBytes && end - begin >= kBeginBytes;
}

auto SequentialStreams::stream_for(ByteRange range) -> Stream& {
  for (auto& stream : streams_) {
    if (stream.proofs == 0) continue;
    const bool is_proven = stream.proofs >= kProofs;
    const auto before = is_proven ? kDisorderBytes : 0;
    const auto after = is_proven ? kDisorderBytes : kProofGapBytes;
    if (range.offset + before >= stream.end && range.offset <= stream.end + after) return stream;
  }
  auto& oldest = *std::ranges::min_element(streams_, {}, &Stream::used);
  oldest = {.begin = range.offset, .end = range.offset};
  return oldest;
}

auto SequentialStreams::note(ByteRange range, std::uint64_t size, const Limits& limits) -> Found {
  auto& stream = stream_for(range);
  stream.used = ++notes_;
  const bool is_proof = stream.proofs == 0 || stream.last_read != reads_;
  if (is_proof) stream.proofs = std::min(stream.proofs + 1, kProofs);
  stream.last_read = reads_;
  stream.end = std::max(stream.end, range.offset + range.size);
  if (stream.has_read_beginning()) stream.is_of_whole_file = true;
  if (stream.is_of_whole_file) stream.proofs = kProofs;
  if (stream.proofs < kProofs) return {};

  stream.ahead_to = std::max(stream.ahead_to, stream.end);
  // While the first bytes are on their way, the reader has not read much yet.
  const auto more = stream.is_of_whole_file ? limits.first_bytes : 0;
  const auto window =
      std::min(limits.window_bytes,
               more + std::max(kFirstWindowBytes, kGrowth * (stream.end - stream.begin)));
  const auto step = std::min(window / 2, std::max(kStepBytes, window / kStepsPerWindow));
  const auto to = std::min(size, stream.end + window);
  const auto missing = to - std::min(to, stream.ahead_to);
  const auto allowed = std::min(missing, limits.fetch_bytes);
  const bool is_worth_it = missing >= step || to == size;
  if (allowed == 0 || !is_worth_it || allowed < std::min(missing, kMinStepBytes)) {
    return {.is_sequential = true, .ahead = {}};
  }
  const ByteRange ahead{stream.ahead_to, allowed};
  stream.ahead_to += allowed;
  return {.is_sequential = true, .ahead = ahead};
}

auto SequentialStreams::course() const -> Course {
  auto found = Course::none;
  for (const auto& stream : streams_) {
    if (!stream.is_of_whole_file) continue;
    const auto unread = stream.ahead_to - std::min(stream.ahead_to, stream.end);
    if (unread <= stream.end - stream.begin) return Course::went_on;
    found = Course::left_early;
  }
  return found;
}

}  // namespace framefs::net

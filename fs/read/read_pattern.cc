#include "fs/read/read_pattern.h"

#include <algorithm>

namespace framefs::fs {
namespace {

// The requests of a sequential reader do not arrive in order.  Two of them are at most this far
// apart: the kernel's read-ahead (fuse/ops/kernel_readahead), and a read(2) of any size in parts.
constexpr std::uint64_t kSlack = 8u << 20;
// The bytes of a stretch that may not have been requested yet, or have been requested twice.
constexpr std::uint64_t kMaxMismatch = 4u << 20;
// After a stretch of this many bytes without a gap, a reader is streaming, and blocks are decoded
// ahead of it.  A page fault in a mapping, and most slices of an array, read less.
constexpr std::uint64_t kProof = 4u << 20;
// A reader jumps that has made more stretches than this, of a mean size below kProof.  Page faults
// of a mapping make stretches longer than kFault; the kernel's read-ahead does not matter to
// readers whose stretches are shorter.
constexpr std::uint64_t kJumps = 8;
constexpr std::uint64_t kFault = 64u << 10;
// The distance to decode ahead.
constexpr std::uint64_t kAhead = 8u << 20;
// The bytes taken at a time: as much as one thread decodes in one run (block_fetcher).
constexpr std::uint64_t kPiece = 256u << 10;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

bool ReadPattern::State::wants_more() const noexcept {
  return bytes > kProof && ahead - end < kAhead;
}

ReadPattern::~ReadPattern() {
  state_.with([&](const State& state) { budget_->note_wasted(state.ahead - state.end); });
}

Access ReadPattern::note(std::uint64_t offset, std::uint64_t size) {
  return state_.with([&](State& state) {
    const bool is_near = distance(offset, state.end) <= kSlack;
    const auto held = state.ahead - state.end;
    State next = state;
    next.end = std::max(state.end, offset + size);
    next.bytes += size;
    next.all_bytes += size;
    next.ahead = std::max(state.ahead, next.end);
    // A reader that jumps within a small range leaves gaps.  A reader that reads the same bytes
    // again requests too many bytes.
    const bool goes_on = is_near && offset >= state.begin &&
                         distance(next.bytes, next.end - next.begin) <= kMaxMismatch;
    if (goes_on) {
      // The bytes ahead of the reader never grow here: only take_ahead() adds some.
      budget_->note_used(held - (next.ahead - next.end));
    } else {
      const auto end = offset + size;
      next = {.begin = offset,
              .end = end,
              .bytes = size,
              .ahead = end,
              .stretches = state.stretches + 1,
              .all_bytes = next.all_bytes};
      budget_->note_wasted(held);
    }
    state = next;
    if (goes_on && state.bytes > kProof) return Access::streaming;
    return is_near ? Access::sequential : Access::random;
  });
}

bool ReadPattern::wants_more() const {
  return state_.with([](const State& state) { return state.wants_more(); });
}

ReadHabit ReadPattern::habit() const {
  return state_.with([](const State& state) {
    const auto mean = state.all_bytes / state.stretches;
    if (mean >= kProof) return ReadHabit::scans;
    const bool jumps = state.stretches > kJumps && mean > kFault;
    return jumps ? ReadHabit::jumps : ReadHabit::unknown;
  });
}

std::optional<ByteRange> ReadPattern::take_ahead(std::uint64_t end) {
  return state_.with([&](State& state) -> std::optional<ByteRange> {
    if (state.ahead >= end || !state.wants_more()) return std::nullopt;
    const ByteRange taken{state.ahead, std::min(kPiece, end - state.ahead)};
    if (!budget_->take(taken.size)) return std::nullopt;
    state.ahead += taken.size;
    return taken;
  });
}

}  // namespace framefs::fs

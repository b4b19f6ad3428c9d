#include "fs/read/read_pattern.h"

#include <algorithm>

namespace framefs::fs {
namespace {

// What the kernel asks for at once: its read-ahead (fuse/read_ahead).
constexpr std::uint64_t kKernelWindow = 4u << 20;
// It asks for what follows while the reader is still at what came before.
constexpr std::uint64_t kSlack = 2 * kKernelWindow;
// So much without a gap shows more than one window, which is all that a fault of a mapping brings.
constexpr std::uint64_t kProof = kKernelWindow;
// So far ahead: while the reader copies one window and the kernel asks for the next, that after it.
constexpr std::uint64_t kAhead = 2 * kKernelWindow;
// What is taken at a time: what one thread decodes in one go (block_fetcher).
constexpr std::uint64_t kPiece = 256u << 10;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

bool ReadPattern::State::wants_more() const noexcept {
  return bytes > kProof && ahead - end < kAhead;
}

ReadPattern::~ReadPattern() {
  state_.with([&](const State& state) { budget_->give_back(state.ahead - state.end); });
}

Access ReadPattern::note(std::uint64_t offset, std::uint64_t size) {
  return state_.with([&](State& state) {
    const bool is_near = distance(offset, state.end) <= kSlack;
    const auto held = state.ahead - state.end;
    State next = state;
    next.end = std::max(state.end, offset + size);
    next.bytes += size;
    next.ahead = std::max(state.ahead, next.end);
    // Who jumps about in a small place, or reads the same bytes again, leaves gaps or asks for too much.
    const bool goes_on = is_near && offset >= state.begin &&
                         distance(next.bytes, next.end - next.begin) <= kKernelWindow;
    if (!goes_on) {
      const auto end = offset + size;
      next = {.begin = offset, .end = end, .bytes = size, .ahead = end};
    }
    // Never more than before: what is ahead of the reader grows by take_ahead() alone.
    budget_->give_back(held - (next.ahead - next.end));
    state = next;
    return is_near ? Access::sequential : Access::random;
  });
}

bool ReadPattern::wants_more() const {
  return state_.with([](const State& state) { return state.wants_more(); });
}

std::optional<ByteRange> ReadPattern::take_ahead() {
  return state_.with([&](State& state) -> std::optional<ByteRange> {
    if (!state.wants_more() || !budget_->take(kPiece)) return std::nullopt;
    const ByteRange taken{state.ahead, kPiece};
    state.ahead += kPiece;
    return taken;
  });
}

}  // namespace framefs::fs

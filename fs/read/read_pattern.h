#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "codec/core/units.h"
#include "fs/core/guarded.h"

namespace framefs::fs {

using codec::ByteRange;

// How a reader goes about it, as far as the reads before this one tell.
enum class Access : std::uint8_t { random, sequential };

// How many bytes the readers of a mount may have had decoded that they have not asked for yet.
// Threads: any number.
class AheadBudget {
 public:
  explicit AheadBudget(std::uint64_t limit_bytes) : limit_(limit_bytes) {}

  [[nodiscard]] bool take(std::uint64_t bytes) noexcept {
    const auto before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (before <= limit_ && bytes <= limit_ - before) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::uint64_t bytes) noexcept {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }

 private:
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};  // nobody infers anything else from it
};

// What the reads of one open file have been, and which bytes the next ones will want if they go on
// like that.
// Threads: any number; the kernel asks for what follows in several requests at a time, which do not
// arrive in order.
class ReadPattern {
 public:
  explicit ReadPattern(std::shared_ptr<AheadBudget> budget) : budget_(std::move(budget)) {}
  ReadPattern(const ReadPattern&) = delete;
  ReadPattern& operator=(const ReadPattern&) = delete;
  ~ReadPattern();

  // Notes a read.
  Access note(std::uint64_t offset, std::uint64_t size);

  // Whether who reads is far enough into a stretch without gaps to be taken to go on, and what follows
  // has not all been taken yet.
  [[nodiscard]] bool wants_more() const;
  // The next bytes that are worth decoding now, or nothing.  They count as decoded from then on.
  [[nodiscard]] std::optional<ByteRange> take_ahead();

 private:
  struct State {
    std::uint64_t begin = 0;  // of the stretch that is read from front to back
    std::uint64_t end = 0;
    std::uint64_t bytes = 0;  // that were asked for in it
    std::uint64_t ahead = 0;  // up to where bytes were taken, or `end`
    [[nodiscard]] bool wants_more() const noexcept;
  };

  const std::shared_ptr<AheadBudget> budget_;
  Guarded<State> state_;
};

}  // namespace framefs::fs

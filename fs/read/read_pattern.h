#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "codec/core/units.h"
#include "fs/core/diagnostics/counters.h"
#include "fs/core/threads/guarded.h"

namespace framefs::fs {

using codec::ByteRange;

// The access pattern of a reader, as far as its earlier reads show it.
enum class Access : std::uint8_t {
  random,
  sequential,  // near the earlier reads
  streaming    // the continuation of a stretch without gaps
};

// The stretches that readers make of a file, as far as a handle has shown it.
enum class ReadHabit : std::uint8_t {
  unknown,
  jumps,  // many short stretches, each longer than a small read(2)
  scans   // long stretches
};

// Limits the bytes decoded ahead that the readers of a mount have not requested yet, and counts all
// that were.
// Threads: any number.
class AheadBudget {
 public:
  // Counts since the mount was made.  The rest of the decoded bytes is still ahead of its reader.
  struct Counts {
    std::uint64_t decoded_bytes = 0;
    std::uint64_t used_bytes = 0;    // their reader has requested them since
    std::uint64_t wasted_bytes = 0;  // their reader has jumped or ended
  };

  explicit AheadBudget(std::uint64_t limit_bytes) : limit_(limit_bytes) {}

  [[nodiscard]] bool take(std::uint64_t bytes) noexcept {
    const auto before = ahead_.fetch_add(bytes, std::memory_order_relaxed);
    if (before <= limit_ && bytes <= limit_ - before) {
      taken_.add(bytes);
      return true;
    }
    ahead_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  // Of the bytes taken, the reader has requested `bytes`, or will not request them.
  void note_used(std::uint64_t bytes) noexcept {
    used_.add(bytes);
    ahead_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  void note_wasted(std::uint64_t bytes) noexcept {
    wasted_.add(bytes);
    ahead_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  [[nodiscard]] Counts counts() const noexcept {
    return {taken_.value(), used_.value(), wasted_.value()};
  }

 private:
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> ahead_{0};  // no other data depends on its value
  Counter taken_;
  Counter used_;
  Counter wasted_;
};

// The reads of one open file so far, and a forecast of the bytes that the next reads will want if
// the pattern continues.
// Threads: any number.  The kernel sends several requests at a time, and they do not arrive in
// order.
class ReadPattern {
 public:
  explicit ReadPattern(std::shared_ptr<AheadBudget> budget) : budget_(std::move(budget)) {}
  ReadPattern(const ReadPattern&) = delete;
  ReadPattern& operator=(const ReadPattern&) = delete;
  ~ReadPattern();

  // Notes a read.
  Access note(std::uint64_t offset, std::uint64_t size);

  // Whether the reader is far enough into a sequential stretch to be expected to continue, and more
  // bytes can be taken ahead.
  [[nodiscard]] bool wants_more() const;
  // Returns the next bytes before `end`, the end of the file, that are worth decoding now, or
  // nothing.  From then on they count as decoded.
  [[nodiscard]] std::optional<ByteRange> take_ahead(std::uint64_t end);

  [[nodiscard]] ReadHabit habit() const;

 private:
  struct State {
    std::uint64_t begin = 0;  // of the sequential stretch
    std::uint64_t end = 0;
    std::uint64_t bytes = 0;  // requested in the stretch
    std::uint64_t ahead = 0;  // the end of the bytes taken ahead, or `end`
    // Of all stretches.
    std::uint64_t stretches = 1;
    std::uint64_t all_bytes = 0;
    [[nodiscard]] bool wants_more() const noexcept;
  };

  const std::shared_ptr<AheadBudget> budget_;
  Guarded<State> state_;
};

}  // namespace framefs::fs

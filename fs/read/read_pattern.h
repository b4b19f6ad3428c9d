#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "codec/core/units.h"
#include "fs/core/guarded.h"

namespace framefs::fs {

using codec::ByteRange;

// The access pattern of a reader, as far as its earlier reads show it.
enum class Access : std::uint8_t {
  random,
  sequential,  // near the earlier reads
  streaming    // the continuation of a stretch without gaps
};

// Limits the bytes decoded ahead that the readers of a mount have not requested yet.
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
  std::atomic<std::uint64_t> used_{0};  // no other data depends on its value
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
  // Returns the next bytes that are worth decoding now, or nothing.  From then on they count as
  // decoded.
  [[nodiscard]] std::optional<ByteRange> take_ahead();

 private:
  struct State {
    std::uint64_t begin = 0;  // of the sequential stretch
    std::uint64_t end = 0;
    std::uint64_t bytes = 0;  // requested in the stretch
    std::uint64_t ahead = 0;  // the end of the bytes taken ahead, or `end`
    [[nodiscard]] bool wants_more() const noexcept;
  };

  const std::shared_ptr<AheadBudget> budget_;
  Guarded<State> state_;
};

}  // namespace framefs::fs

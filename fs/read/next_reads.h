#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codec/core/units.h"

namespace framefs::fs {

using codec::ByteRange;

// The reads of one open file so far, and the bytes that its reader will probably want next.  Two
// kinds of readers show it: one that reads on without gaps, and one that makes equal runs, as a
// slice of an array does, at equal distances or not.  The bytes that are named in vain are at most
// four times those of a run, and only for a run that is longer than the two before it.
// Threads: one at a time.
class NextReads {
 public:
  // Notes a read.  Returns the ranges that are probably wanted next, in the order of their use.
  // They are returned again, with those behind them, whenever the reader has come a part of the
  // way.
  [[nodiscard]] std::vector<ByteRange> note(ByteRange read);

 private:
  // Reads of adjacent bytes, which may overtake each other.
  struct Run {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t bytes = 0;  // requested
    bool has_large_begin = false;
    [[nodiscard]] std::uint64_t size() const noexcept { return end - begin; }
    [[nodiscard]] bool is_continued_by(ByteRange read) const noexcept;
    void add(ByteRange read) noexcept;
  };
  void begin_run(ByteRange read);
  // The size of the range behind the run that is probably wanted.
  [[nodiscard]] std::uint64_t window() const noexcept;
  [[nodiscard]] bool is_regular() const noexcept;
  [[nodiscard]] std::vector<ByteRange> next_runs() const;

  Run run_;
  std::array<std::uint64_t, 2> last_sizes_{};  // of the two runs before
  std::uint64_t run_size_ = 0;                 // of the shortest of the equal runs before
  // Equal runs at equal distances.
  std::uint64_t first_begin_ = 0;  // of the first of them
  std::uint64_t distance_ = 0;     // the mean; 0 if this run does not begin behind the one before
  std::uint64_t distances_ = 0;    // the number of distances that equal the first one
  std::uint64_t named_to_ = 0;     // the end of the range that was returned last
};

}  // namespace framefs::fs

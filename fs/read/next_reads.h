#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "codec/core/units.h"
#include "fs/read/array_grid.h"

namespace framefs::fs {

using codec::ByteRange;

// The reads of one open file so far, and the bytes that its reader will probably want next.  Two
// kinds of readers show it: one that reads on without gaps, and one that makes equal runs, as a
// slice of an array does, at equal distances or not.
//
// The bands of an array limit the bytes that are named in vain.  A run that comes to its second
// band is expected to want the third one, too; a series of equal runs, a third as many bands as it
// has come to, and at least one.  A long run that is longer than the two before it is expected to
// go on for four times its bytes, but not behind the end of its plane, or of the array.
// Threads: one at a time.
class NextReads {
 public:
  NextReads() = default;
  // `grid` is that of the file.
  explicit NextReads(ArrayGrid grid) : grid_(std::move(grid)) {}

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
  // Whether the read continues the run before: one that was overtaken, or the reader has come back.
  [[nodiscard]] bool belongs_to_last(ByteRange read) noexcept;
  // The distance without the error of requests around it.
  [[nodiscard]] std::uint64_t rounded(std::uint64_t distance) const noexcept;
  // The size of the range behind the run that is probably wanted.
  [[nodiscard]] std::uint64_t window() const noexcept;
  // Those of the band behind a run that has come to its second one.
  [[nodiscard]] std::uint64_t bytes_to_next_band() const noexcept;
  // Those up to the end of the smallest part of the array that holds the whole run.
  [[nodiscard]] std::uint64_t bytes_to_end_of_part() const noexcept;
  [[nodiscard]] bool is_regular() const noexcept;
  // The number of runs behind this one that are probably wanted.
  [[nodiscard]] std::uint64_t count_of_next_runs() const noexcept;
  [[nodiscard]] std::vector<ByteRange> next_runs() const;

  ArrayGrid grid_;
  Run run_;
  Run last_;                                   // the run before
  unsigned late_reads_ = 0;                    // the reads of `last_` since this run began
  std::array<std::uint64_t, 2> last_sizes_{};  // of the two runs before
  std::uint64_t run_size_ = 0;                 // of the shortest of the equal runs before
  // Equal runs at equal distances.
  std::uint64_t first_begin_ = 0;  // of the first of them
  std::uint64_t distance_ = 0;     // the mean; 0 if this run does not begin behind the one before
  std::uint64_t distances_ = 0;    // the number of distances that equal the first one
  std::uint64_t named_to_ = 0;     // the end of the range that was returned last
};

}  // namespace framefs::fs

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "codec/core/units.h"

namespace framefs::codec {

// Which bytes of a frame's file nobody needs, so that commits need not make it grow for ever.  What a
// committed state refers to is never given out.  Readers may still go by the state before the last
// one; so what dies with a commit is given out again for the second commit after it at the earliest.
// The same bookkeeping serves for the chunk numbers of a sparse frame.
// Units: bytes, or numbers.  Threads: one.
// Source: frame format, "Shadow commit".
class FrameSpace {
 public:
  // All before `end` is in use.
  explicit FrameSpace(std::uint64_t end) : end_(end) {}

  // Where the last thing in use ends, or something that is given out.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  // What lies before that and is in nobody's use, given out or not.
  [[nodiscard]] std::uint64_t dead_bytes() const noexcept;

  // The beginning of `size` units (not 0): the smallest space that will do, or at the end.
  std::uint64_t allocate(std::uint64_t size);
  // The first space that begins at or after `from`, or at the end.
  std::uint64_t allocate_from(std::uint64_t from, std::uint64_t size);
  // At the end.
  std::uint64_t append(std::uint64_t size);

  // append() will give out nothing before `at`; what is left out is dead.
  void raise_end(std::uint64_t at);

  // Takes back what was given out and never committed.
  void take_back(ByteRange range);
  // A part of the committed state that the next one will not have.
  void retire(ByteRange range) { retired_.push_back(range); }
  // What has been retired and has yet to die; it is no longer known then.
  std::vector<ByteRange> take_retired() { return std::exchange(retired_, {}); }
  // Something found dead, when nobody knows since when.
  void add_dead(ByteRange range) { dead_.push_back(range); }
  // The next state has been committed.
  void commit();

 private:
  using Free = std::map<std::uint64_t, std::uint64_t>;  // size by beginning
  std::uint64_t take(Free::iterator free, std::uint64_t at, std::uint64_t size);
  void insert(ByteRange range);
  void remove(Free::iterator free);

  std::uint64_t end_;
  Free free_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // the same, size first
  std::vector<ByteRange> retired_;                             // die with the next commit
  std::vector<ByteRange> dead_;                                // died with the last one
};

}  // namespace framefs::codec

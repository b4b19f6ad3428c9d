#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "codec/core/units.h"

namespace framefs::codec {

// Appends a range.  If it begins where the last one ends, that one becomes longer instead: a
// compaction lists the places of millions of chunks.
void append_range(std::vector<ByteRange>& ranges, ByteRange range);

// Tracks the free bytes of a frame's file, so that commits can reuse them.
//
// Invariant: bytes that a committed state refers to are never allocated.  Readers may still use the
// state before the last commit.  Hence bytes that a commit retires are allocated again after the
// next commit at the earliest.  The caller retires only bytes that no other part of the next state
// uses.  Ranges that are freed may overlap or repeat.
//
// The class also tracks the chunk file numbers of a sparse frame.
// Units: bytes, or file numbers.  Threads: one.
// Source: frame format, "Shadow commit".
class FrameSpace {
 public:
  // All units before `end` are in use.
  explicit FrameSpace(std::uint64_t end) : end_(end) {}

  // The end of the last unit that is in use or allocated.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  // The number of units before end() that the next state does not use.
  [[nodiscard]] std::uint64_t dead_bytes() const noexcept;

  // Allocates `size` units (not 0) and returns their start: the smallest hole that is large enough,
  // else the end.
  std::uint64_t allocate(std::uint64_t size);
  // Allocates at the first hole at or after `from` that is large enough, else at the end.
  std::uint64_t allocate_from(std::uint64_t from, std::uint64_t size);
  // Allocates at the end.
  std::uint64_t append(std::uint64_t size);

  // Raises end() to at least `at`.  The units in between become dead.
  void raise_end(std::uint64_t at);

  // Returns an allocation that was never committed.
  void take_back(ByteRange range);
  // Marks a range of the committed state that the next state will not use.
  void retire(ByteRange range) { append_range(retired_, range); }
  // Removes and returns the ranges that were retired since the last commit.
  std::vector<ByteRange> take_retired() { return std::exchange(retired_, {}); }
  // Adds a range that was found dead.  Since the time of its death is unknown, the next commit
  // frees it.
  void add_dead(ByteRange range) { dead_.push_back(range); }
  // Records that the next state has been committed.
  void commit();

 private:
  using Free = std::map<std::uint64_t, std::uint64_t>;  // size by start
  std::uint64_t take(Free::iterator free, std::uint64_t at, std::uint64_t size);
  void insert(ByteRange range);
  void remove(Free::iterator free);

  std::uint64_t end_;
  Free free_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // the same holes, by size and start
  std::vector<ByteRange> retired_;                             // will be dead after the next commit
  std::vector<ByteRange> dead_;                                // will be free after the next commit
};

}  // namespace framefs::codec

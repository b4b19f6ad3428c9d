#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "codec/core/units.h"

namespace framefs::net {

using codec::ByteRange;

// Finds sequential readers among the reads of one object, and chooses the range to fetch ahead of
// them.  Several readers may read at several places.
// Threads: one at a time.
class SequentialStreams {
 public:
  struct Found {
    bool is_sequential = false;
    std::optional<ByteRange> ahead;  // the range to fetch now
  };
  struct Limits {
    std::uint64_t window_bytes = 0;  // ahead of one reader
    std::uint64_t first_bytes = 0;   // added to the window of a reader from the beginning
    std::uint64_t fetch_bytes = 0;   // to fetch now
  };

  // The next calls of note() belong to one read.  Its ranges are often adjacent, so that only
  // successive reads show a sequential reader.
  void begin_read() { ++reads_; }
  // A caller reads `range` of an object of `size` bytes.
  Found note(ByteRange range, std::uint64_t size, const Limits& limits);

  // How the sequential readers from the beginning of the object went on.
  enum class Course : std::uint8_t {
    none,        // there was no such reader
    left_early,  // they left more unread than they read
    went_on,     // at least one of them read most of the bytes that were fetched
  };
  [[nodiscard]] Course course() const;

  // The number of consecutive reads that precede the first fetch ahead.
  static constexpr unsigned kProofs = 4;
  static constexpr std::uint64_t kFirstWindowBytes = 1 << 20;
  // The window is this many times as large as the part of the object that the reader has read.
  static constexpr std::uint64_t kGrowth = 4;

 private:
  struct Stream {
    std::uint64_t begin = 0;  // of the bytes that were read
    std::uint64_t end = 0;
    std::uint64_t ahead_to = 0;  // the end of the bytes that were fetched ahead
    unsigned proofs = 0;
    std::uint64_t used = 0;       // the note() that used it last
    std::uint64_t last_read = 0;  // the read that used it last
    bool is_of_whole_file = false;

    // Most programs that read so much at the beginning of a file go on to its end.
    [[nodiscard]] bool has_read_beginning() const;
  };
  Stream& stream_for(ByteRange range);

  std::array<Stream, 8> streams_{};
  std::uint64_t notes_ = 0;
  std::uint64_t reads_ = 0;
};

}  // namespace framefs::net

#pragma once

#include <cstdint>

#include "codec/core/result.h"
#include "fs/read/read_pattern.h"
#include "fs/read/read_result.h"

namespace framefs::fs {

// What lseek() asks for.
enum class Seek : std::uint8_t { data, hole };

// The bytes of one shown file, in one state of what they come from.  When that changes, a new view is
// made.  What cannot be opened has a view as well, whose every read fails with the reason.
// Threads: any number.
class View {
 public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  virtual ~View() = default;

  // False where every read will fail.
  [[nodiscard]] virtual bool is_readable() const noexcept = 0;

  // Bytes [offset, offset + size), less where the file ends before.
  // Errors: those of every chunk and block that the range touches.
  virtual Result<ReadResult> read(std::uint64_t offset, std::uint64_t size,
                                  Access access) const = 0;

  // Decodes into the cache what a read of `range` would need and is not there, in the calling thread
  // alone.  Whether the file goes on behind it, and decoding ahead is worth it at all.  What fails is
  // left to those who read it.
  [[nodiscard]] virtual bool decode_ahead(ByteRange /*range*/) const { return false; }

  // The first byte from `offset` on that lies in data, or in a hole; the end of the file is a hole.
  // Errors: system, ENXIO, at or past the end, and where only a hole follows; those of the index.
  virtual Result<std::uint64_t> seek(Seek what, std::uint64_t offset) const = 0;
};

}  // namespace framefs::fs

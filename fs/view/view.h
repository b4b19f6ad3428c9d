#pragma once

#include <cstdint>
#include <span>

#include "codec/core/result.h"
#include "fs/read/array_grid.h"
#include "fs/read/read_pattern.h"
#include "fs/read/read_result.h"

namespace framefs::fs {

// The kind of byte that lseek() looks for.
enum class Seek : std::uint8_t { data, hole };

// The bytes of one shown file, in one state of its backing file. A change of that file creates a
// new view. A file that cannot be opened also has a view; each read of it fails with the cause.
// Threads: any number.
class View {
 public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  virtual ~View() = default;

  // False if every read will fail.
  [[nodiscard]] virtual bool is_readable() const noexcept = 0;

  // Returns bytes [offset, offset + size), or fewer if the file ends before.
  // Errors: those of every chunk and block that the range touches.
  [[nodiscard]] virtual Result<ReadResult> read(std::uint64_t offset, std::uint64_t size,
                                                Access access) const = 0;

  // Says that the bytes `now` are about to be read, and then probably those of `next`, in this
  // order.  A view of a far file that must be decoded has them fetched.
  virtual void expect(ByteRange /*now*/, std::span<const ByteRange> /*next*/) const {}

  // Where the blocks of an array lie in the file.
  [[nodiscard]] virtual ArrayGrid grid() const { return {}; }

  // The size of the file if it must be decoded, and 0 otherwise.
  [[nodiscard]] virtual std::uint64_t decoded_bytes() const noexcept { return 0; }

  // Decodes the blocks that a read of `range` would need and that the cache lacks, in the calling
  // thread alone. Returns true if the file continues after `range` and read-ahead is useful for it.
  // Ignores errors: the later read reports them.
  [[nodiscard]] virtual bool decode_ahead(ByteRange /*range*/) const { return false; }

  // The first byte from `offset` on that lies in data, or in a hole; the end of the file counts as
  // a hole.
  // Errors: system, ENXIO, if `offset` is at or past the end, or if only a hole follows; those of
  // the index.
  [[nodiscard]] virtual Result<std::uint64_t> seek(Seek what, std::uint64_t offset) const = 0;
};

}  // namespace framefs::fs

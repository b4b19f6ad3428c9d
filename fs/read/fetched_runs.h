#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/scratch.h"
#include "codec/core/units.h"

namespace framefs::fs {

// Ranges of a far source that were read by one call.  Threads that decode them need not wait.
// Threads: any number, after construction.
class FetchedRuns final : public codec::ByteSource {
 public:
  // Waits for the source.  If that fails, every read fails with the reason.  The bytes are in
  // `memory`, which must not be used while this object lives.
  FetchedRuns(const codec::ByteSource& source, std::span<const codec::ByteRange> ranges,
              codec::Scratch& memory);

  // The bytes of a part of a range, which live as long as this object.
  // Errors: those of the source; internal for bytes that lie in no range.
  [[nodiscard]] codec::Result<std::span<const std::byte>> bytes_at(codec::ByteRange range) const;
  // Errors: those of bytes_at().
  [[nodiscard]] codec::Status read_at(std::uint64_t offset,
                                      std::span<std::byte> out) const override;
  [[nodiscard]] codec::Result<std::uint64_t> size() const override;

 private:
  struct Piece {
    codec::ByteRange range;
    std::span<std::byte> bytes;
  };
  std::vector<Piece> pieces_;  // by offset
  codec::Status status_;
};

}  // namespace framefs::fs

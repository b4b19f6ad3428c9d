#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// Encodes the index of a frame for one commit after the other.  The encoded blocks of the stored
// index whose entries are still the same are copied; only the others are encoded again.
// A short index, and one that another program has encoded, is encoded as a whole.
// Threads: one.
// Source: frame format, "Index".
class IndexEncoder {
 public:
  // The XXH3 hash of 128 bits of the entries of a block of the index.  A mount never writes enough
  // blocks for two equal hashes.
  using Digest = std::array<std::uint64_t, 2>;

  // The end of a frame: its index, then its trailer.
  struct Encoded {
    std::unique_ptr<std::byte[]> buffer;
    std::size_t size = 0;
    std::size_t index_size = 0;
    std::uint64_t encoded_blocks = 0;  // the others were copied
    std::vector<Digest> digests{};     // of the blocks of a long index
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {buffer.get(), size}; }
  };

  // `source` holds the stored index.
  // Errors: those of encode_index().
  [[nodiscard]] Result<Encoded> encode(std::span<const std::int64_t> entries,
                                       std::span<const std::byte> trailer,
                                       const ByteSource& source) const;

  // Remembers the stored index: the bytes [offset, offset + size) of `source` begin with it.
  void set_stored(ByteRange place, std::vector<Digest> digests) noexcept;
  // The digests of a stored index with these entries.
  static std::vector<Digest> digests_of(std::span<const std::int64_t> entries);

 private:
  ByteRange place_;
  std::vector<Digest> digests_;
};

}  // namespace framefs::codec

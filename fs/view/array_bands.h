#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "fs/view/array_blocks.h"
#include "fs/view/band_parts.h"

namespace framefs::fs {

// The parts of an array's bands that the cache holds in C order, for streaming readers of an array
// whose bands exceed the cache: see BandParts.
// Threads: any number.
class ArrayBands {
 public:
  // Null if there is no need for parts, or none are possible.  `cache_bytes` is the budget of the
  // cache through which the frame is read.  Lifetime: `blocks` outlives the object.
  static std::unique_ptr<const ArrayBands> make(const ArrayBlocks& blocks,
                                                std::uint64_t cache_bytes);

  // Answers a range of the array that lies in one part, without a copy.  Returns false if there is
  // no such part.  Errors: those of the request's work.
  Result<bool> answer(ReadResult& result, ByteRange range) const;
  // Copies a range of the array.  Where no part can be had, read_blocks() does it.
  // Errors: those of read_blocks() and of the request's work.
  using ReadBlocks = std::function<Status(ByteRange, std::span<std::byte>)>;
  Status fill(ByteRange range, std::span<std::byte> out, const ReadBlocks& read_blocks) const;

 private:
  struct DecodedPart;
  struct UsedPart;
  ArrayBands(const ArrayBlocks& blocks, const BandParts& parts) : blocks_(blocks), parts_(parts) {}
  [[nodiscard]] Result<UsedPart> use(ByteRange part, std::uint64_t from) const;
  [[nodiscard]] Result<std::shared_ptr<const DecodedPart>> decode(ByteRange part) const;
  [[nodiscard]] Status decode_blocks(ByteRange part, std::span<std::byte> out) const;

  const ArrayBlocks& blocks_;
  const BandParts parts_;
};

}  // namespace framefs::fs

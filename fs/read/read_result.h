#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "fs/read/decode_cache.h"

namespace framefs::fs {

// What a read came to: bytes where they lie, without another copy, and what keeps them there.
// Lifetime: the spans are good as long as this object is; destroy it once the reply is sent.
struct ReadResult {
  DecodeCache::Admission admission;  // first, and so given back when the owners have let go
  std::vector<std::span<const std::byte>> spans;
  std::vector<std::shared_ptr<const void>> owners;
};

}  // namespace framefs::fs

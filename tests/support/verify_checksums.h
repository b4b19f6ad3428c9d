#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/frame/chunk_checksums.h"
#include "codec/frame/frame.h"

namespace framefs::test {

// Verifies the stored bytes of all chunks by the checksums of the frame, if these count.
// `source` holds the frame, and `chunks` the chunks at the offsets of its index.
inline codec::Status verify_checksums(const codec::ByteSource& source,
                                      const codec::ByteSource& chunks, const codec::Frame& frame) {
  FRAMEFS_TRY(const auto checksums, codec::read_checksums(frame, source, codec::Limits{}));
  std::vector<std::int64_t> entries(frame.chunk_count());
  FRAMEFS_CHECK(frame.read_entries(source, {0}, entries));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i] < 0) continue;
    FRAMEFS_CHECK(codec::verify_chunk(chunks, frame.header(), entries[i], checksums.of({i})));
  }
  return {};
}

}  // namespace framefs::test

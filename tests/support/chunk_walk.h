#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tests/support/bytes.h"

namespace framefs::test {

// What one stream of a chunk is stored as.
enum class StreamForm : std::uint8_t { zeros, run, raw, compressed };

// A chunk of blocks taken apart with the format at hand and the codecs' own libraries: fields, forms
// of the streams, and each block as it was before any filter is undone.
struct WalkedChunk {
  std::uint32_t nbytes = 0;
  std::uint32_t blocksize = 0;
  std::vector<StreamForm> forms;
  std::vector<Bytes> filtered_blocks;
  Bytes dictionary;
};

// Nothing where the chunk breaks a rule that a writer has to keep: version 5, the extended header,
// block starts that ascend without gaps or overlaps, streams that decode to what they must, BloscLZ
// streams that end in literals, compressed streams shorter than their plain bytes.
// For chunks that are neither plain nor special.
// Source: chunk format.
std::optional<WalkedChunk> walk_chunk(std::span<const std::byte> chunk);

}  // namespace framefs::test

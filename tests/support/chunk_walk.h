#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tests/support/bytes.h"

namespace framefs::test {

// The form in which one stream of a chunk is stored.
enum class StreamForm : std::uint8_t { zeros, run, raw, compressed };

// The parts of a chunk of blocks, decoded independently of framefs with the codecs' own libraries:
// fields, forms of the streams, and each block before its filters are reversed.
struct WalkedChunk {
  std::uint32_t nbytes = 0;
  std::uint32_t blocksize = 0;
  std::vector<StreamForm> forms;
  std::vector<Bytes> filtered_blocks;
  Bytes dictionary;
};

// Takes a chunk apart.  Returns nothing if the chunk breaks a rule for writers: version 5, the
// extended header, ascending block starts without gaps or overlaps, streams of the right decoded
// size, BloscLZ streams that end in literals, compressed streams shorter than their plain bytes.
// For chunks that are neither plain nor special.
// Source: chunk format.
std::optional<WalkedChunk> walk_chunk(std::span<const std::byte> chunk);

}  // namespace framefs::test

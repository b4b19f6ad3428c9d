#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "codec/chunk/chunk_context.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// Limits that keep a test fast for any damaged number.
codec::Limits small_limits();

// Opens and decodes `bytes` as one chunk, or as a frame with its metalayers, in several independent
// ways.  Returns an empty string if all of them fail with an error, or if all of them agree on
// bytes that have the declared size and depend only on the input.  Otherwise returns a description
// of the problem.
std::string chunk_misbehaviour(std::span<const std::byte> bytes,
                               const codec::ChunkContext& context = {});
std::string frame_misbehaviour(std::span<const std::byte> bytes);

// The same for the index file of a sparse frame, whose chunks are in `chunks`.
std::string sparse_misbehaviour(std::span<const std::byte> index_file,
                                const codec::ByteSource& chunks);

// Runs `probe` on copies of `good` in which one bit of [begin, end) is flipped, for each such bit.
// Returns the first problem, with the position of the bit.
using Probe = std::function<std::string(std::span<const std::byte>)>;
std::string first_bad_flip(const Bytes& good, std::size_t begin, std::size_t end,
                           const Probe& probe);

}  // namespace framefs::test

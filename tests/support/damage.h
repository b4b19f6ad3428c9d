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

// Limits under which no damaged number can make a test slow.
codec::Limits small_limits();

// Opens and decodes `bytes` as one chunk, or as a frame with its metalayers, in ways that have
// little in common.  Empty where they refuse the bytes with an error, or all agree on bytes of
// the declared size that depend on nothing but the input; else what went wrong.
std::string chunk_misbehaviour(std::span<const std::byte> bytes,
                               const codec::ChunkContext& context = {});
std::string frame_misbehaviour(std::span<const std::byte> bytes);

// The same of the index file of a sparse frame, whose chunks are in `chunks`.
std::string sparse_misbehaviour(std::span<const std::byte> index_file,
                                const codec::ByteSource& chunks);

// Runs `probe` on `good` with each single bit of [begin, end) turned over.  Returns how the first
// one that misbehaved did, with the place of the bit.
using Probe = std::function<std::string(std::span<const std::byte>)>;
std::string first_bad_flip(const Bytes& good, std::size_t begin, std::size_t end,
                           const Probe& probe);

}  // namespace framefs::test

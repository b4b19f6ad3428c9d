#pragma once

#include <cstdint>

#include "codec/chunk/block_decoder.h"
#include "codec/core/scratch.h"
#include "fs/core/resources/idle_pool.h"

namespace framefs::fs {

// The decoder and the buffers of one thread.
struct DecodeContext {
  codec::BlockDecoder decoder;
  codec::Scratch stored;
  codec::Scratch plain;  // of a block of which a part is used
  codec::Scratch apart;  // stored bytes that are not next to the others
  codec::Scratch first;  // the decoded first block of a chunk

  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return decoder.memory_bytes() + stored.memory_bytes() + plain.memory_bytes() +
           apart.memory_bytes() + first.memory_bytes();
  }
};

// For larger blocks, a thread allocates new memory each time.
inline constexpr KeptIdle kKeptContexts{.max_bytes = 4u << 20};
using DecodeContexts = IdlePool<DecodeContext, kKeptContexts>;

}  // namespace framefs::fs

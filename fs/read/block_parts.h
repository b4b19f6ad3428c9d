#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "codec/core/byte_source.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/read/block_request.h"
#include "fs/read/block_runs.h"
#include "fs/read/buffer_pool.h"
#include "fs/read/decode_cache.h"
#include "fs/read/decode_context.h"
#include "fs/read/recent_touches.h"

namespace framefs::fs {

// A range of a block's bytes.
struct BlockPart {
  BlockRequest request;  // for a block, not for a group
  ByteRange within;
};

// Decodes parts of blocks, where that is the better way than to decode the blocks into the cache.
// Threads: any number.
class BlockParts {
 public:
  // Lifetime: all of them outlive it.
  BlockParts(DecodeCache& cache, BufferPool& buffers, WorkerPool& workers, DecodeContexts& contexts)
      : cache_(cache), buffers_(buffers), workers_(workers), contexts_(contexts) {}

  // Decodes only the bytes `within` of one block, for this reader alone and without the cache.  It
  // does so for a small part of a block that no reader has requested lately.  A random reader then
  // does not pay for bytes that it does not read, and does not fill the cache with them.  A codec
  // that decodes whole blocks only does the same while readers seldom come back to a block, and
  // once the cache is full.
  // Damage behind the part is not noticed until more of the block is read.
  struct Part {
    std::shared_ptr<const Bytes> bytes;  // null if BlockFetcher::fetch() is the better way
    // Whether the other parts are worth having in the kernel's page cache: a small part was read
    // lately, too, or they have to be decoded for this one and readers often come back to blocks.
    bool is_hot = false;
  };
  // `request` is for a block, not for a group.
  Part fetch(const codec::ByteSource& source, const BlockRequest& request, ByteRange within);

  // Notes a touch of the bytes `within` of a block.  Returns whether decode() is the better way to
  // them than BlockFetcher::fetch(), for a reader that touches many blocks: the part is small, its
  // decoder stops behind it, this is one of the first touches lately, and the reader does not come
  // back to the block at once.  A block that readers come back to is decoded once and kept.
  // Damage behind the part is not noticed, as in fetch().
  [[nodiscard]] bool is_early(const BlockRequest& request, ByteRange within);

  // Decodes parts for a caller that keeps them itself: the cache is not used.  Calls use(i, block)
  // for part i, from several threads at once; only its bytes `within` of `block` are valid.  The
  // source is not far.
  // Errors: one of the errors, once all work that was begun has ended.
  using Use = std::function<void(std::size_t, std::span<const std::byte>)>;
  Status decode(const codec::ByteSource& source, std::span<const BlockPart> parts, const Use& use);

  // A damaged block is not decoded in parts, in whatever order its parts are read.
  void note_damaged(const BlockRequest& request) noexcept { touches_.note_most(request.key()); }

 private:
  static Status decode_one(const codec::ByteSource& source, DecodeContext& context,
                           const StoredBlock& block, std::span<const std::byte> stored,
                           ByteRange within, const Use& use);
  [[nodiscard]] bool is_worth_a_part(const BlockRequest& request, ByteRange within);
  [[nodiscard]] bool is_worth_the_rest(const BlockRequest& request) const;

  DecodeCache& cache_;
  BufferPool& buffers_;
  WorkerPool& workers_;
  DecodeContexts& contexts_;
  RecentTouches touches_;
};

}  // namespace framefs::fs

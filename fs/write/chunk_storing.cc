#include "fs/write/chunk_storing.h"

#include <utility>

#include "codec/frame/frame_index.h"

namespace framefs::fs {
namespace {

// A single chunk of less is not worth the trouble of several threads.
constexpr std::size_t kLeastSharedBytes = 256u << 10;

// An index entry says of zeros only how many items there are.
codec::EncodeParams params_for(codec::EncodeParams params, std::size_t nbytes) {
  params.zeros_vanish = nbytes % params.typesize == 0;
  return params;
}

}  // namespace

class ChunkStoring::Lease {
 public:
  explicit Lease(ChunkStoring& owner) : owner_(owner) {
    lane_ = owner_.idle_.with([](auto& idle) {
      if (idle.empty()) return std::unique_ptr<Lane>();
      auto last = std::move(idle.back());
      idle.pop_back();
      return last;
    });
    if (!lane_) lane_ = std::make_unique<Lane>();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    owner_.idle_.with([&](auto& idle) { idle.push_back(std::move(lane_)); });
  }
  Lane* operator->() { return lane_.get(); }

 private:
  ChunkStoring& owner_;
  std::unique_ptr<Lane> lane_;
};

void ChunkStoring::store(FrameBackend& backend, const codec::EncodeParams& params,
                         std::span<Job> jobs) {
  if (jobs.size() == 1) {
    jobs[0].entry = jobs[0].plain.size() < kLeastSharedBytes
                        ? store_one(backend, params, jobs[0].plain)
                        : store_by_blocks(backend, params, jobs[0].plain);
    return;
  }
  workers_.run(jobs.size(),
               [&](std::size_t i) { jobs[i].entry = store_one(backend, params, jobs[i].plain); });
}

Result<std::int64_t> ChunkStoring::store_one(FrameBackend& backend,
                                             const codec::EncodeParams& params,
                                             std::span<const std::byte> plain) {
  Lease lane(*this);
  const auto out = lane->stored.take(codec::ChunkPlan::most_bytes(plain.size()));
  FRAMEFS_TRY(const auto size, lane->chunks.encode(params_for(params, plain.size()), plain, out));
  if (size == 0) return codec::index_code(codec::Special::zero);
  return backend.store(out.first(size));
}

Result<std::int64_t> ChunkStoring::store_by_blocks(FrameBackend& backend,
                                                   const codec::EncodeParams& params,
                                                   std::span<const std::byte> plain) {
  FRAMEFS_TRY(const auto plan, codec::ChunkPlan::make(params_for(params, plain.size()), plain));
  if (plan.outcome() != codec::ChunkOutcome::blocks) return store_one(backend, params, plain);
  struct Encoded {
    std::unique_ptr<Bytes> bytes;
    Result<std::size_t> size = 0;
  };
  std::vector<Encoded> encoded(plan.block_count());
  workers_.run(encoded.size(), [&](std::size_t i) {
    const codec::BlockIndex block{i};
    const auto [at, size] = plan.block_range(block);
    encoded[i].bytes = std::make_unique<Bytes>(buffers_, plan.most_block_bytes(block));
    Lease lane(*this);
    encoded[i].size =
        lane->blocks.encode(plan, block, plain.subspan(at, size), encoded[i].bytes->writable());
  });
  std::vector<std::span<const std::byte>> blocks;
  blocks.reserve(encoded.size());
  for (const auto& block : encoded) {
    FRAMEFS_TRY(const auto size, block.size);
    blocks.push_back(block.bytes->view().first(size));
  }
  Lease lane(*this);
  const auto out = lane->stored.take(codec::ChunkPlan::most_bytes(plain.size()));
  const auto size = plan.assemble(plain, blocks, out);
  if (size == 0) return codec::index_code(codec::Special::zero);
  return backend.store(out.first(size));
}

}  // namespace framefs::fs

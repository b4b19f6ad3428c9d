#include "fs/write/chunk_writer.h"

#include <utility>

#include "codec/frame/frame_index.h"

namespace framefs::fs {
namespace {

// A single chunk of less is not worth the trouble of several threads.
constexpr std::size_t kMinSharedBytes = 256u << 10;

// An index entry says of zeros only how many items there are.
codec::EncodeParams params_for(codec::EncodeParams params, std::size_t nbytes) {
  params.omit_zero_chunks = nbytes % params.typesize == 0;
  return params;
}

}  // namespace

class ChunkWriter::Lease {
 public:
  explicit Lease(ChunkWriter& owner) : owner_(owner) {
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
  ChunkWriter& owner_;
  std::unique_ptr<Lane> lane_;
};

void ChunkWriter::write(FrameBackend& backend, const codec::EncodeParams& params,
                        std::span<Job> jobs) {
  if (jobs.size() == 1) {
    jobs[0].entry = jobs[0].plain.size() < kMinSharedBytes
                        ? write_one(backend, params, jobs[0].plain)
                        : write_by_blocks(backend, params, jobs[0].plain);
    return;
  }
  workers_.run(jobs.size(),
               [&](std::size_t i) { jobs[i].entry = write_one(backend, params, jobs[i].plain); });
}

Result<std::int64_t> ChunkWriter::write_one(FrameBackend& backend,
                                            const codec::EncodeParams& params,
                                            std::span<const std::byte> plain) {
  Lease lane(*this);
  const auto out = lane->stored.take(codec::ChunkPlan::max_bytes(plain.size()));
  FRAMEFS_TRY(const auto size, lane->chunks.encode(params_for(params, plain.size()), plain, out));
  if (size == 0) return codec::index_code(codec::Special::zero);
  return backend.write_chunk(out.first(size));
}

Result<std::int64_t> ChunkWriter::write_by_blocks(FrameBackend& backend,
                                                  const codec::EncodeParams& params,
                                                  std::span<const std::byte> plain) {
  FRAMEFS_TRY(const auto plan, codec::ChunkPlan::make(params_for(params, plain.size()), plain));
  if (plan.outcome() != codec::ChunkOutcome::blocks) return write_one(backend, params, plain);
  struct Encoded {
    std::unique_ptr<Bytes> bytes;
    Result<std::size_t> size = 0;
  };
  std::vector<Encoded> encoded(plan.block_count());
  workers_.run(encoded.size(), [&](std::size_t i) {
    const codec::BlockIndex block{i};
    const auto [at, size] = plan.block_range(block);
    encoded[i].bytes = std::make_unique<Bytes>(buffers_, plan.max_block_bytes(block));
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
  const auto out = lane->stored.take(codec::ChunkPlan::max_bytes(plain.size()));
  const auto size = plan.assemble(plain, blocks, out);
  if (size == 0) return codec::index_code(codec::Special::zero);
  return backend.write_chunk(out.first(size));
}

}  // namespace framefs::fs

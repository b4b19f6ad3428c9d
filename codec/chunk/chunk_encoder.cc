#include "codec/chunk/chunk_encoder.h"

#include <algorithm>

namespace framefs::codec {

Result<std::size_t> ChunkEncoder::encode(const EncodeParams& params,
                                         std::span<const std::byte> plain,
                                         std::span<std::byte> out) {
  FRAMEFS_TRY(const auto plan, ChunkPlan::make(params, plain));
  if (plan.outcome() != ChunkOutcome::blocks) return plan.assemble(plain, {}, out);

  // Blocks are encoded in place while the rest of `out` has room for the largest result.
  ends_.clear();
  std::size_t at = plan.blocks_begin();
  for (BlockIndex block; block.value < plan.block_count(); ++block.value) {
    const auto range = plan.block_range(block);
    const auto most = plan.max_block_bytes(block);
    const auto rest = out.subspan(at);
    const bool in_place = rest.size() >= most;
    if (!in_place) spare_.resize(most);
    const auto room = in_place ? rest : std::span(spare_);
    FRAMEFS_TRY(const auto size,
                blocks_.encode(plan, block, plain.subspan(range.offset, range.size), room));
    if (!plan.is_worthwhile(at + size)) return plan.write_plain(plain, out);
    if (!in_place) std::ranges::copy(std::span(spare_).first(size), rest.begin());
    at += size;
    ends_.push_back(static_cast<std::uint32_t>(at));
  }
  return plan.finish_blocks(ends_, out);
}

}  // namespace framefs::codec

#include "codec/frame/data_place.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "codec/core/checked.h"
#include "codec/core/work_budget.h"
#include "codec/frame/metalayer_content.h"

namespace framefs::codec {
namespace {

const Metalayer* find_layer(const std::vector<Metalayer>& layers, std::string_view name) {
  const auto found = std::ranges::find(layers, name, &Metalayer::name);
  return found == layers.end() ? nullptr : &*found;
}

std::unexpected<Error> not_fetched() {
  return std::unexpected(Error{.kind = Errc::system,
                               .field = "this cache of remote data has not fetched these bytes",
                               .sys = EIO,
                               .is_sentence = true});
}

// How a frame's chunks are divided into blocks; zeros if it does not say.
struct BlockShapeOfFrame {
  std::uint64_t per_chunk = 0;
  std::uint64_t block_bytes = 0;
};

BlockShapeOfFrame block_shape_of(const FrameHeader& header,
                                 const std::optional<Result<ArrayMeta>>& array) {
  if (!array) {
    if (header.blocksize <= 0 || header.chunksize == 0) return {};
    const auto block = static_cast<std::uint64_t>(header.blocksize);
    return {div_ceil<std::uint64_t>(header.chunksize, block), block};
  }
  if (!*array) return {};
  BlockShapeOfFrame shape{1, header.typesize};
  for (std::size_t i = 0; i < (*array)->ndim; ++i) {
    const std::uint64_t block = (*array)->blockshape[i];
    if (block == 0) return {};
    shape.per_chunk *= div_ceil<std::uint64_t>((*array)->chunkshape[i], block);
    shape.block_bytes *= block;
  }
  return shape;
}

}  // namespace

DataPlace DataPlace::of(const FrameHeader& header, const std::vector<Metalayer>& metalayers,
                        const std::optional<Result<ArrayMeta>>& array) {
  DataPlace place;
  place.is_recipe_ = std::ranges::any_of(metalayers, [](const Metalayer& layer) {
    return layer.name == "b2o" || layer.name == "LazyArray";
  });
  place.is_remote_cache_ = find_layer(metalayers, "proxy-source") != nullptr;
  if (!place.is_remote_cache_) return place;
  const auto shape = block_shape_of(header, array);
  place.blocks_per_chunk_ = shape.per_chunk;
  place.block_bytes_ = shape.block_bytes;
  return place;
}

Result<std::optional<FetchedBlocks>> DataPlace::read_fetched(
    const ByteSource& source, const std::vector<Metalayer>& vlmetalayers, std::uint64_t chunk_count,
    const Limits& limits) const {
  if (!is_remote_cache_) return std::nullopt;
  // The records are read only if they have the size that the frame's blocks need.
  constexpr std::uint64_t kBinHeaderBytes = 5;
  const auto content_of = [&](const char* name,
                              std::uint64_t bits) -> Result<FetchedBlocks::Content> {
    const auto* const layer = find_layer(vlmetalayers, name);
    if (layer == nullptr) return std::nullopt;
    Limits own = limits;
    own.vlmeta_bytes = std::min(limits.fetched_bytes, bits / 8 + 1) + kBinHeaderBytes;
    auto content = read_vlmetalayer(source, *layer, own);
    // A failure of the source or of this request says nothing about the record.
    const auto is_of_record = [](const Error& error) {
      return error.kind != Errc::system && !is_work_error(error);
    };
    if (!content && !is_of_record(content.error())) return std::unexpected(content.error());
    return std::move(content).value_or(std::vector<std::byte>{});
  };
  auto per_chunk = blocks_per_chunk_;
  if (per_chunk == 0) {
    FRAMEFS_TRY(const auto number, content_of(kFetchedBlocksPerChunkLayer, 0));
    per_chunk = FetchedBlocks::parse_blocks_per_chunk(number);
  }
  const auto bits = checked_mul(chunk_count, per_chunk).value_or(0);
  FRAMEFS_TRY(auto blocks, content_of(kFetchedBlocksLayer, bits));
  FRAMEFS_TRY(auto chunks, content_of(kFetchedChunksLayer, chunk_count));
  return FetchedBlocks::make({.chunks = chunk_count, .blocks_per_chunk = per_chunk},
                             {.blocks = std::move(blocks), .chunks = std::move(chunks)});
}

bool DataPlace::has_data_of(ChunkIndex chunk, std::int64_t entry,
                            const FetchedBlocks* fetched) const noexcept {
  if (is_recipe_) return false;
  if (!is_remote_cache_) return true;
  if (fetched == nullptr) return false;
  return fetched->is_recorded() ? fetched->has_any(chunk) : entry >= 0;
}

Status DataPlace::check_entry(ChunkIndex chunk, std::int64_t entry,
                              const FetchedBlocks* fetched) const {
  FRAMEFS_CHECK(check_holds_data());
  if (!has_data_of(chunk, entry, fetched)) return not_fetched();
  return {};
}

// Without a record, a special chunk may be one that was never fetched.
Status DataPlace::check_opened(const Chunk& chunk, const FetchedBlocks* fetched) const {
  if (fetched == nullptr || fetched->is_recorded()) return {};
  if (chunk.body() == ChunkBody::special) return not_fetched();
  return {};
}

Status DataPlace::check_holds_data() const {
  if (!is_recipe_) return {};
  return std::unexpected(
      Error{.kind = Errc::system,
            .field = "this frame stores a recipe that computes values, and no data",
            .sys = EOPNOTSUPP,
            .is_sentence = true});
}

Status DataPlace::check_fetched(const FetchedBlocks& fetched, ChunkIndex index, const Chunk& chunk,
                                ByteRange within) const {
  if (fetched.has_all(index) || within.size == 0) return {};
  // If the chunk has other blocks than were recorded, the record is of no use for a part of it.
  const bool is_cut = chunk.body() == ChunkBody::blocks;
  const bool is_as_recorded =
      block_bytes_ > 0 && (!is_cut || chunk.header().blocksize == block_bytes_);
  if (!is_as_recorded) return not_fetched();
  const auto first = within.offset / block_bytes_;
  const auto last = (within.offset + within.size - 1) / block_bytes_;
  if (!fetched.has(index, first, last + 1)) return not_fetched();
  return {};
}

}  // namespace framefs::codec

#include "codec/chunk/encode_params.h"

#include <algorithm>
#include <array>

#include "codec/core/limits.h"
#include "codec/filter/filter_ids.h"
#include "codec/filter/forward_pipeline.h"

namespace framefs::codec {
namespace {

constexpr std::uint32_t kKiB = 1024;

// Codecs that compress better with larger blocks.
bool wants_large_blocks(CodecId codec) {
  return codec == CodecId::lz4hc || codec == CodecId::zlib || codec == CodecId::zstd;
}

std::uint32_t whole_blocksize(const EncodeParams& params) {
  // In units of 8 KiB, by level.
  constexpr std::array<std::uint32_t, 10> kUnits = {1, 2, 4, 8, 16, 16, 32, 32, 32, 32};
  const auto level = static_cast<std::size_t>(params.clevel);
  const bool large = wants_large_blocks(params.codec);
  const std::uint32_t best = large && params.clevel == 9 ? 2 : 1;
  return 8 * kKiB * kUnits[level] * (large ? 2 : 1) * best;
}

// The size of a stream, times one stream for each byte of an item.
std::uint32_t split_blocksize(const EncodeParams& params) {
  constexpr std::array<std::uint32_t, 10> kStreamKiB = {32, 32, 32, 32, 64, 64, 64, 128, 256, 512};
  constexpr std::uint32_t kMax = 4096 * kKiB;
  const auto stream = kStreamKiB[static_cast<std::size_t>(params.clevel)] * kKiB;
  return std::min(stream * params.typesize, kMax);
}

bool shuffles(const EncodeParams& params) {
  return std::ranges::any_of(params.filters,
                             [](FilterSlot slot) { return slot.id == filter_id::kShuffle; });
}

}  // namespace

Status check_params(const EncodeParams& params) {
  constexpr int kHighestLevel = 9;
  if (params.clevel < 0 || params.clevel > kHighestLevel) {
    return fail_value(Errc::bad_field, "clevel", 0, params.clevel);
  }
  if (params.typesize == 0 || params.typesize > kMaxBlockBytes) {
    return fail_value(Errc::bad_field, "typesize", 0, params.typesize);
  }
  if (params.blocksize > kMaxBlockBytes) {
    return fail_value(Errc::bad_field, "blocksize", 0, params.blocksize);
  }
  const auto stored = params.typesize <= kLargestTypesizeInHeader ? params.typesize : 1;
  FRAMEFS_TRY([[maybe_unused]] const auto filters,
              ForwardPipeline::make(params.filters,
                                    {.typesize = stored, .schunk_typesize = params.typesize}));
  return {};
}

std::uint32_t blocksize_for(const EncodeParams& params, std::uint32_t nbytes) {
  std::uint32_t size = params.blocksize;
  if (size == 0) {
    size = nbytes < 32 * kKiB ? nbytes : whole_blocksize(params);
    if (params.clevel > 0 && splits_blocks(params, size)) size = split_blocksize(params);
  }
  // A block holds whole items, and at least one: the reference library cannot decode a repeated
  // item that is larger than a block.
  size = std::max(size - size % params.typesize, params.typesize);
  size = std::min({size, nbytes, kMaxBlockBytes});
  if (size > params.typesize) size -= size % params.typesize;
  return std::max(size, std::uint32_t{1});
}

bool splits_blocks(const EncodeParams& params, std::uint32_t blocksize) {
  constexpr std::uint32_t kMaxStreams = 16;
  constexpr std::uint32_t kFewestItems = 32;
  constexpr int kHighestSplitZstd = 5;
  const auto typesize = params.typesize;
  if (typesize == 1 || typesize > kLargestTypesizeInHeader || blocksize < typesize) return false;
  // A dictionary requires unsplit blocks: readers before 2.13 expect them.
  if (params.use_dict && params.codec == CodecId::zstd) return false;
  if (params.split == SplitMode::always) return true;
  if (params.split == SplitMode::never) return false;
  const bool fast = params.codec == CodecId::blosclz || params.codec == CodecId::lz4 ||
                    (params.codec == CodecId::zstd && params.clevel <= kHighestSplitZstd);
  return fast && shuffles(params) && typesize <= kMaxStreams &&
         blocksize / typesize >= kFewestItems;
}

}  // namespace framefs::codec

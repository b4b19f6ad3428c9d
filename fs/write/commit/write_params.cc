#include "fs/write/commit/write_params.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "codec/filter/filter_ids.h"
#include "codec/frame/frame_array.h"

namespace framefs::fs {
namespace {

constexpr int kHighestLevel = 9;

bool is_lossless(codec::FilterSlot slot) {
  return slot.id == codec::filter_id::kShuffle || slot.id == codec::filter_id::kBitshuffle ||
         slot.id == codec::filter_id::kBytedelta;
}

// Empty if the frame is no array, or one that cannot be shown as such.
std::optional<std::uint32_t> array_block_bytes(const codec::Frame& frame) {
  const auto& meta = frame.array();
  if (!meta || !*meta) return std::nullopt;
  const auto layout = codec::layout_of(**meta, frame.header());
  return layout ? std::optional(layout->block_bytes()) : std::nullopt;
}

}  // namespace

codec::EncodeParams write_params(const codec::Frame& frame) {
  const auto& header = frame.header();
  codec::EncodeParams params{.clevel = std::min<int>(header.clevel, kHighestLevel),
                             .typesize = header.typesize};
  params.codec = codec::codec_of_number(header.codec_id).value_or(params.codec);
  for (std::size_t i = 0; i < params.filters.size(); ++i) {
    if (is_lossless(header.filters[i])) params.filters[i] = header.filters[i];
  }
  params.blocksize = static_cast<std::uint32_t>(std::max(header.blocksize, 0));
  if (const auto bytes = array_block_bytes(frame)) params.blocksize = *bytes;
  if (header.splitmode != 0) params.split = static_cast<codec::SplitMode>(header.splitmode);
  params.use_dict = header.use_dict && params.codec == codec::CodecId::zstd;
  if (!codec::check_params(params)) params.filters = {};
  return params;
}

}  // namespace framefs::fs

#include "codec/filter/forward_pipeline.h"

#include <algorithm>
#include <cassert>

#include "codec/filter/bitshuffle.h"
#include "codec/filter/bytedelta.h"
#include "codec/filter/clear_bits.h"
#include "codec/filter/filter_ids.h"
#include "codec/filter/shuffle.h"

namespace framefs::codec {

using namespace filter_id;

Result<ForwardPipeline> ForwardPipeline::make(const FilterSlots& slots,
                                              const PipelineShape& shape) {
  if (shape.typesize == 0 || shape.schunk_typesize == 0) {
    return fail(Errc::bad_field, "typesize", 3);
  }
  ForwardPipeline pipeline;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (const auto added = pipeline.add(slots[slot], shape); !added) {
      auto error = added.error();
      error.at = kFiltersAt + slot;
      return std::unexpected(error);
    }
  }
  return pipeline;
}

Status ForwardPipeline::add(FilterSlot slot, const PipelineShape& shape) {
  const auto [id, meta] = slot;
  switch (id) {
    case kNone:
      return {};
    case kShuffle: {
      const std::uint32_t width = meta != 0 ? meta : shape.typesize;
      if (width > 1) steps_[size_++] = {.pass = Pass::shuffle, .width = width};
      return {};
    }
    case kBitshuffle:
      steps_[size_++] = {.pass = Pass::bitshuffle, .width = shape.typesize};
      return {};
    case kBytedelta:
      steps_[size_++] = {.pass = Pass::bytedelta,
                         .width = meta != 0 ? meta : shape.schunk_typesize};
      return {};
    case kTruncPrec: {
      FRAMEFS_TRY(const auto bits, trunc_prec_bits(shape.typesize, static_cast<std::int8_t>(meta)));
      steps_[size_++] = {.pass = Pass::clear_bits, .width = shape.typesize, .bits = bits};
      return {};
    }
    case kIntTrunc: {
      FRAMEFS_TRY(const auto bits, int_trunc_bits(shape.typesize, static_cast<std::int8_t>(meta)));
      steps_[size_++] = {.pass = Pass::clear_bits, .width = shape.typesize, .bits = bits};
      return {};
    }
    default:
      return fail_value(is_reserved(id) ? Errc::bad_field : Errc::unsupported, "filter", 0, id);
  }
}

std::span<const std::byte> ForwardPipeline::encode(std::span<const std::byte> block,
                                                   std::span<std::byte> first,
                                                   std::span<std::byte> second) const {
  assert(is_identity() || (first.size() >= block.size() && second.size() >= block.size()));
  if (is_identity()) return block;
  // `next` is the buffer to write to, `there` the buffer after it.  The result so far is in
  // `block`, later in `there`.
  auto next = first.first(block.size());
  auto there = second.first(block.size());
  std::span<const std::byte> from = block;
  const auto swap_buffers = [&] {
    std::swap(next, there);
    from = there;
  };
  for (const auto& [pass, width, bits] : std::span(steps_).first(size_)) {
    const bool in_place = pass == Pass::bytedelta || pass == Pass::clear_bits;
    if (in_place && from.data() == block.data()) {
      std::ranges::copy(block, next.begin());
      swap_buffers();
    }
    switch (pass) {
      case Pass::shuffle:
        shuffle(width, from, next);
        swap_buffers();
        break;
      case Pass::bitshuffle:
        bitshuffle(width, from, next);
        swap_buffers();
        break;
      case Pass::bytedelta:
        bytedelta(width, there);
        break;
      case Pass::clear_bits:
        clear_low_bits(width, bits, there);
        break;
    }
  }
  return from;
}

}  // namespace framefs::codec

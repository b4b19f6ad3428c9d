#include "codec/filter/pipeline.h"

#include <cassert>
#include <utility>

#include "codec/filter/bytedelta.h"
#include "codec/filter/delta.h"
#include "codec/filter/shuffle.h"

namespace framefs::codec {
namespace {

// Source: chunk format, filter ids; codec/FORMAT.md, "Filters".
constexpr std::uint8_t kNone = 0;
constexpr std::uint8_t kShuffle = 1;
constexpr std::uint8_t kBitshuffle = 2;
constexpr std::uint8_t kDelta = 3;
constexpr std::uint8_t kTruncPrec = 4;
constexpr std::uint8_t kFirstReserved = 5;
constexpr std::uint8_t kLastReserved = 31;
constexpr std::uint8_t kBytedeltaBuggy = 34;
constexpr std::uint8_t kBytedelta = 35;
constexpr std::uint8_t kIntTrunc = 36;

constexpr std::uint64_t kFiltersAt = 16;  // of slot 0 in the chunk header

}  // namespace

Result<FilterPipeline> FilterPipeline::make(const FilterSlots& slots, const PipelineShape& shape) {
  if (shape.typesize == 0 || shape.schunk_typesize == 0) {
    return fail(Errc::bad_field, "typesize", 3);
  }
  FilterPipeline pipeline;
  pipeline.bitshuffle_tail_ = shape.bitshuffle_tail;
  for (std::size_t slot = slots.size(); slot-- > 0;) {
    const auto [id, meta] = slots[slot];
    switch (id) {
      case kNone:
      case kTruncPrec:  // these two took bits away for good
      case kIntTrunc:
        break;
      case kShuffle:
        // Releases before 2.23.1 took no notice of the parameter; whoever writes one means it.
        pipeline.add(Pass::unshuffle, meta != 0 ? meta : shape.typesize);
        break;
      case kBitshuffle:
        pipeline.add(Pass::bitunshuffle, shape.typesize);
        break;
      case kDelta:
        pipeline.add(Pass::undelta, shape.typesize);
        break;
      case kBytedeltaBuggy:
        pipeline.add(Pass::unbytedelta_anew, meta != 0 ? meta : shape.schunk_typesize);
        break;
      case kBytedelta:
        pipeline.add(Pass::unbytedelta, meta != 0 ? meta : shape.schunk_typesize);
        break;
      default:
        return fail_value(
            id >= kFirstReserved && id <= kLastReserved ? Errc::bad_field : Errc::unsupported,
            "filter", kFiltersAt + slot, id);
    }
  }
  return pipeline;
}

void FilterPipeline::add(Pass pass, std::uint32_t width) {
  if (pass == Pass::unshuffle && width == 1) return;  // moves no byte
  steps_[size_++] = Step{pass, width};
  if (pass == Pass::unshuffle || pass == Pass::bitunshuffle) ++moves_;
  if (pass == Pass::undelta) uses_delta_ = true;
}

std::span<std::byte> FilterPipeline::input(std::span<std::byte> out,
                                           std::span<std::byte> scratch) const {
  return moves_ % 2 == 0 ? out : scratch.first(out.size());
}

void FilterPipeline::decode(std::span<std::byte> out, std::span<std::byte> scratch,
                            std::span<const std::byte> block0) const {
  assert(!needs_scratch() || scratch.size() >= out.size());
  std::span<std::byte> from = out;
  std::span<std::byte> to = needs_scratch() ? scratch.first(out.size()) : out;
  if (moves_ % 2 != 0) std::swap(from, to);
  for (const auto& [pass, width] : std::span(steps_).first(size_)) {
    switch (pass) {
      case Pass::unshuffle:
        unshuffle(width, from, to);
        std::swap(from, to);
        break;
      case Pass::bitunshuffle:
        bitunshuffle(width, from, to, bitshuffle_tail_);
        std::swap(from, to);
        break;
      case Pass::undelta:
        if (block0.empty()) {
          undelta_first_block(width, from);
        } else {
          undelta_block(width, from, block0);
        }
        break;
      case Pass::unbytedelta:
        unbytedelta(width, from, BytedeltaSum::whole_stream);
        break;
      case Pass::unbytedelta_anew:
        unbytedelta(width, from, BytedeltaSum::anew_after_vectors);
        break;
    }
  }
}

}  // namespace framefs::codec

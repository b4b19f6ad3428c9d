#include "codec/frame/fetched_blocks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"
#include "codec/core/msgpack_markers.h"

namespace framefs::codec {
namespace {

using Content = FetchedBlocks::Content;

// The number of bytes after the marker of a MessagePack string of bytes.
Result<std::size_t> bin_length(ByteReader& in) {
  FRAMEFS_TRY(const auto marker, in.u8("bitmap marker"));
  switch (marker) {
    case kMarkerBin8:
      return in.be<std::uint8_t>("bitmap length");
    case kMarkerBin16:
      return in.be<std::uint16_t>("bitmap length");
    case kMarkerBin32:
      return in.be<std::uint32_t>("bitmap length");
    default:
      return fail_value(Errc::bad_field, "bitmap marker", 0, marker);
  }
}

// A bitmap of exactly `bits` bits.
std::optional<std::vector<std::byte>> bitmap_of(Content content,
                                                std::optional<std::uint64_t> bits) {
  if (!content || !bits) return std::nullopt;
  ByteReader in(*content);
  const auto length = bin_length(in);
  if (!length || *length != div_ceil<std::uint64_t>(*bits, 8)) return std::nullopt;
  const auto begin = static_cast<std::ptrdiff_t>(in.position());
  if (!in.take(*length, "bitmap")) return std::nullopt;
  content->resize(static_cast<std::size_t>(begin) + *length);
  content->erase(content->begin(), content->begin() + begin);
  return content;
}

}  // namespace

// A MessagePack number that is not negative.
std::uint64_t FetchedBlocks::parse_blocks_per_chunk(const Content& content) {
  constexpr std::uint8_t kMaxFixint = 0x7F;
  if (!content) return 0;
  ByteReader in(*content);
  const auto marker = in.u8("number");
  if (!marker) return 0;
  if (*marker <= kMaxFixint) return *marker;
  switch (*marker) {
    case kMarkerUint8:
      return in.be<std::uint8_t>("number").value_or(0);
    case kMarkerUint16:
      return in.be<std::uint16_t>("number").value_or(0);
    case kMarkerUint32:
      return in.be<std::uint32_t>("number").value_or(0);
    default:
      return 0;
  }
}

FetchedBlocks FetchedBlocks::make(Shape shape, Layers layers) {
  const bool has_layer = layers.blocks || layers.chunks;
  FetchedBlocks fetched;
  fetched.shape_ = shape;
  if (shape.blocks_per_chunk > 0) {
    const auto bits = checked_mul(shape.chunks, shape.blocks_per_chunk);
    if (auto blocks =
            bitmap_of(std::move(layers.blocks), bits ? std::optional(*bits) : std::nullopt)) {
      fetched.is_recorded_ = true;
      fetched.bits_ = std::move(*blocks);
      return fetched;
    }
  }
  const auto blocks_per_chunk = std::exchange(fetched.shape_.blocks_per_chunk, 1);
  if (auto chunks = bitmap_of(std::move(layers.chunks), shape.chunks)) {
    fetched.is_recorded_ = true;
    fetched.bits_ = std::move(*chunks);
    return fetched;
  }
  // A writer of chunks with several blocks always records them; without a record nothing counts.
  fetched.is_recorded_ = blocks_per_chunk > 1 || has_layer;
  return fetched;
}

bool FetchedBlocks::bit(std::uint64_t block) const noexcept {
  const auto at = block / 8;
  if (at >= bits_.size()) return false;
  return ((std::to_integer<unsigned>(bits_[at]) >> (block % 8)) & 1U) != 0;
}

bool FetchedBlocks::has(ChunkIndex chunk, std::uint64_t first, std::uint64_t end) const noexcept {
  if (!is_recorded_) return true;
  const auto begin = chunk.value * shape_.blocks_per_chunk;
  end = std::min(end, shape_.blocks_per_chunk);
  for (auto block = first; block < end; ++block) {
    if (!bit(begin + block)) return false;
  }
  return true;
}

bool FetchedBlocks::has_any(ChunkIndex chunk) const noexcept {
  if (!is_recorded_) return true;
  const auto begin = chunk.value * shape_.blocks_per_chunk;
  for (std::uint64_t block = 0; block < shape_.blocks_per_chunk; ++block) {
    if (bit(begin + block)) return true;
  }
  return false;
}

std::uint64_t FetchedBlocks::count() const noexcept {
  std::uint64_t sum = 0;
  for (const auto byte : bits_)
    sum += static_cast<unsigned>(std::popcount(std::to_integer<std::uint8_t>(byte)));
  // Bits after the last block have no meaning.
  for (auto block = total(); block < bits_.size() * 8; ++block) sum -= bit(block) ? 1U : 0U;
  return sum;
}

}  // namespace framefs::codec

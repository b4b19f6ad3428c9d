#include "codec/frame/frame_trailer.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <xxhash.h>

#include "codec/chunk/chunk_encoder.h"
#include "codec/core/byte_writer.h"
#include "codec/core/limits.h"
#include "codec/core/msgpack_markers.h"
#include "codec/frame/trailer_layout.h"

namespace framefs::codec {
namespace {

constexpr std::uint8_t kTrailerVersion = 1;
// The map's size is counted from the end of the marker before it; in the header, it includes the
// marker.
constexpr std::size_t kMapSizeCountsFrom = 3;

// The type of a fingerprint stands before it.  The reference library knows the types 0 to 3.
constexpr std::uint8_t kNoFingerprint = 0;
constexpr std::uint8_t kSeal = 0x46;
constexpr std::size_t kSealBytes = 1 + kFingerprintBytes;
using SealBytes = std::array<std::byte, kSealBytes>;

// `trailer` ends with a fingerprint, which the hash does not cover.
SealBytes seal_for(std::span<const std::byte> trailer) noexcept {
  const auto sealed = trailer.first(trailer.size() - kSealBytes);
  XXH128_canonical_t hash{};
  XXH128_canonicalFromHash(&hash, XXH3_128bits(sealed.data(), sealed.size()));
  SealBytes seal{std::byte{kSeal}};
  std::ranges::copy(std::as_bytes(std::span(hash.digest)), seal.begin() + 1);
  return seal;
}

}  // namespace

TrailerSeal seal_of(std::span<const std::byte> trailer) noexcept {
  if (trailer.size() < kTrailerTailBytes) return TrailerSeal::none;
  const auto stored = trailer.last(kSealBytes);
  if (stored.front() != std::byte{kSeal}) return TrailerSeal::none;
  return std::ranges::equal(stored, seal_for(trailer)) ? TrailerSeal::valid : TrailerSeal::broken;
}

void seal_trailer(std::span<std::byte> trailer) noexcept {
  std::ranges::copy(seal_for(trailer), trailer.last(kSealBytes).begin());
}

void remove_seal(std::span<std::byte> trailer) noexcept {
  std::ranges::fill(trailer.last(kSealBytes), std::byte{kNoFingerprint});
}

Result<std::vector<std::byte>> encode_vlmetalayer(std::span<const std::byte> plain) {
  const EncodeParams params{.omit_zero_chunks = false};
  std::vector<std::byte> out(ChunkPlan::max_bytes(plain.size()));
  ChunkEncoder encoder;
  FRAMEFS_TRY(const auto size, encoder.encode(params, plain, out));
  out.resize(size);
  return out;
}

Result<std::vector<std::byte>> encode_trailer(std::span<const NamedContent> vlmetalayers) {
  ByteWriter out;
  out.u8(kMarkerFixArray + 4);
  out.u8(kTrailerVersion);
  FRAMEFS_CHECK(append_metalayers(out, vlmetalayers, kMapSizeCountsFrom, kMaxVlMetalayers));
  const auto size = out.size() + kTrailerTailBytes;
  out.u8(kMarkerUint32);
  out.be(static_cast<std::uint32_t>(size));
  out.u8(kMarkerFixext16);
  out.u8(kNoFingerprint);
  out.zeros(kFingerprintBytes);
  return std::move(out).take();
}

}  // namespace framefs::codec

#include "codec/frame/frame_trailer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>

#include <xxhash.h>

#include "codec/chunk/chunk_encoder.h"
#include "codec/core/byte_writer.h"
#include "codec/core/limits.h"
#include "codec/core/msgpack_markers.h"
#include "codec/core/work_budget.h"
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

struct FreeHash {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

// The seal of a trailer of `size` bytes, which ends with a fingerprint that the hash does not
// cover.
Result<SealBytes> seal_for(const ByteSource& trailer, std::uint64_t size) {
  const std::unique_ptr<XXH3_state_t, FreeHash> state(XXH3_createState());
  if (!state || XXH3_128bits_reset(state.get()) != XXH_OK) {
    return std::unexpected(Error{.kind = Errc::system, .field = "hash", .sys = ENOMEM});
  }
  std::array<std::byte, std::size_t{16} << 10> buffer{};
  const auto sealed = size - kSealBytes;
  FRAMEFS_CHECK(spend_work(sealed));
  for (std::uint64_t at = 0; at < sealed;) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), sealed - at));
    FRAMEFS_CHECK(trailer.read_at(at, piece));
    XXH3_128bits_update(state.get(), piece.data(), piece.size());
    at += piece.size();
  }
  XXH128_canonical_t hash{};
  XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(state.get()));
  SealBytes seal{std::byte{kSeal}};
  std::ranges::copy(std::as_bytes(std::span(hash.digest)), seal.begin() + 1);
  return seal;
}

}  // namespace

Result<TrailerSeal> seal_of(const ByteSource& trailer) {
  FRAMEFS_TRY(const auto size, trailer.size());
  if (size < kTrailerTailBytes) return TrailerSeal::none;
  SealBytes stored{};
  FRAMEFS_CHECK(trailer.read_at(size - kSealBytes, stored));
  if (stored.front() != std::byte{kSeal}) return TrailerSeal::none;
  FRAMEFS_TRY(const auto valid, seal_for(trailer, size));
  return stored == valid ? TrailerSeal::valid : TrailerSeal::broken;
}

TrailerSeal seal_of(std::span<const std::byte> trailer) {
  // Only a request that is interrupted cannot read memory.
  return seal_of(MemorySource(trailer)).value_or(TrailerSeal::broken);
}

void seal_trailer(std::span<std::byte> trailer) noexcept {
  const auto sealed = trailer.first(trailer.size() - kSealBytes);
  XXH128_canonical_t hash{};
  XXH128_canonicalFromHash(&hash, XXH3_128bits(sealed.data(), sealed.size()));
  const auto seal = trailer.last(kSealBytes);
  seal.front() = std::byte{kSeal};
  std::ranges::copy(std::as_bytes(std::span(hash.digest)), seal.begin() + 1);
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

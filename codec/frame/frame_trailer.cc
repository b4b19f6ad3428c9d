#include "codec/frame/frame_trailer.h"

#include <cstdint>

#include "codec/chunk/chunk_encoder.h"
#include "codec/core/byte_writer.h"
#include "codec/core/limits.h"

namespace framefs::codec {
namespace {

constexpr std::uint8_t kMarkerArray4 = 0x94;
constexpr std::uint8_t kTrailerVersion = 1;
constexpr std::uint8_t kMarkerFixext16 = 0xD8;
constexpr std::size_t kFingerprintBytes = 16;
// The trailer's length with its marker, then the fingerprint with its marker and type.
constexpr std::size_t kTailBytes = 5 + 2 + kFingerprintBytes;
// The map's size is counted from the end of the marker before it; in the header, it includes the
// marker.
constexpr std::size_t kMapSizeCountsFrom = 3;

}  // namespace

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
  out.u8(kMarkerArray4);
  out.u8(kTrailerVersion);
  FRAMEFS_CHECK(append_metalayers(out, vlmetalayers, kMapSizeCountsFrom, kMaxVlMetalayers));
  const auto size = out.size() + kTailBytes;
  out.u8(kMarkerUint32);
  out.be(static_cast<std::uint32_t>(size));
  out.u8(kMarkerFixext16);
  out.u8(0);  // no fingerprint
  out.zeros(kFingerprintBytes);
  return std::move(out).take();
}

}  // namespace framefs::codec

#include "codec/frame/frame_index.h"

#include "codec/chunk/chunk_encoder.h"
#include "codec/core/byte_writer.h"
#include "codec/core/limits.h"
#include "codec/filter/filter_ids.h"

namespace framefs::codec {

EncodeParams index_params() {
  EncodeParams params{.codec = CodecId::blosclz,
                      .clevel = 5,
                      .typesize = kIndexEntryBytes,
                      .blocksize = kIndexBlockBytes,
                      .split = SplitMode::never,
                      .omit_zero_chunks = false};
  params.filters.back().id = filter_id::kShuffle;
  return params;
}

void store_entries(std::span<const std::int64_t> entries, std::span<std::byte> to) noexcept {
  std::byte* at = to.data();
  for (const auto entry : entries) {
    store_le(at, entry);
    at += kIndexEntryBytes;
  }
}

std::int64_t index_code(Special rule) noexcept {
  constexpr int kShift = 56;
  constexpr std::uint64_t kNotStored = 0x80;
  constexpr std::uint64_t kZero = 1;
  constexpr std::uint64_t kNan = 2;
  constexpr std::uint64_t kUninit = 4;
  const auto kind = rule == Special::nan ? kNan : rule == Special::uninit ? kUninit : kZero;
  return static_cast<std::int64_t>((kNotStored | kind) << kShift);
}

Result<std::vector<std::byte>> encode_index(std::span<const std::int64_t> entries) {
  if (entries.size() > kMaxChunks) {
    return fail_value(Errc::over_limit, "number of chunks", 0,
                      static_cast<std::int64_t>(entries.size()));
  }
  std::vector<std::byte> plain(entries.size() * kIndexEntryBytes);
  store_entries(entries, plain);
  std::vector<std::byte> out(ChunkPlan::max_bytes(plain.size()));
  ChunkEncoder encoder;
  FRAMEFS_TRY(const auto size, encoder.encode(index_params(), plain, out));
  out.resize(size);
  return out;
}

}  // namespace framefs::codec

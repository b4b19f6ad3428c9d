#include "tests/support/beta_frame_builder.h"

#include <string_view>

namespace framefs::test {
namespace {

constexpr std::size_t kBetaFilterSlots = 8;

void append_byte(Bytes& to, unsigned value) { to.push_back(static_cast<std::byte>(value)); }

template <std::integral T>
void append_marked(Bytes& to, unsigned marker, T value) {
  append_byte(to, marker);
  append_be<T>(to, value);
}

Bytes build_header(const FrameSpec& spec, const BetaExtras& extras, const FrameNumbers& numbers) {
  Bytes out;
  append_byte(out, 0x9d);  // 13 items
  append_byte(out, 0xa8);
  append(out, std::string_view("b2frame\0", 8));
  append_marked<std::int32_t>(out, 0xd2, 0);  // header_len, set at the end
  append_marked(out, 0xcf, numbers.frame_bytes);
  append_byte(out, 0xa4);
  append_byte(out, extras.general_flags);
  append_byte(out, 0);
  append_byte(out, codec_number(spec.codec) | static_cast<unsigned>(spec.level) << 4);
  append_byte(out, 0);
  append_marked(out, 0xd3, static_cast<std::int64_t>(numbers.nbytes));
  append_marked(out, 0xd3, static_cast<std::int64_t>(numbers.cbytes));
  append_marked(out, 0xd2, static_cast<std::int32_t>(spec.typesize));
  append_marked(out, 0xd2, static_cast<std::int32_t>(spec.chunksize));
  append_marked<std::int16_t>(out, 0xd1, 1);  // threads of the writer
  append_marked<std::int16_t>(out, 0xd1, 1);
  append_byte(out, extras.usermeta ? 0xc3 : 0xc2);
  append_byte(out, 0xd8);
  append_byte(out, static_cast<unsigned>(spec.filters.size()));
  for (std::size_t i = 0; i < kBetaFilterSlots; ++i) {
    append_byte(out, i < spec.filters.size() ? static_cast<unsigned>(spec.filters[i]) : 0);
  }
  out.insert(out.end(), kBetaFilterSlots, std::byte{0});  // their parameters
  append_metalayers(out, spec.metalayers, out.size());
  constexpr std::size_t kHeaderLenAt = 11;
  put_be(out, kHeaderLenAt, static_cast<std::int32_t>(out.size()));
  return out;
}

Bytes build_trailer(const BetaExtras& extras) {
  Bytes content;
  if (extras.usermeta) {
    ChunkSpec chunk;
    chunk.codec = Codec::memcpy;
    chunk.typesize = 1;
    chunk.version = 4;
    content = build_chunk(*extras.usermeta, chunk);
  }
  Bytes out;
  append_byte(out, 0x94);
  append_byte(out, extras.trailer_version);
  append_marked(out, 0xc6, static_cast<std::uint32_t>(content.size()));
  append(out, content);
  constexpr std::size_t kTailBytes = 23;
  append_marked(out, 0xce, static_cast<std::uint32_t>(out.size() + kTailBytes));
  append_byte(out, 0xd8);
  out.insert(out.end(), 17, std::byte{0});  // no fingerprint
  return out;
}

}  // namespace

BuiltFrame build_beta_frame(const FrameSpec& spec, const BetaExtras& extras) {
  const auto header_of = [&](const FrameNumbers& numbers) {
    return build_header(spec, extras, numbers);
  };
  return assemble_frame(spec, header_of, build_trailer(extras));
}

}  // namespace framefs::test

#include "tests/support/frame_builder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/support/demand.h"

namespace framefs::test {
namespace {

// msgpack markers.  Source: frame format, "Header" and "Trailer".
constexpr std::uint8_t kStr4 = 0xa4;
constexpr std::uint8_t kStrBase = 0xa0;
constexpr std::uint8_t kBin32 = 0xc6;
constexpr std::uint8_t kFalse = 0xc2;
constexpr std::uint8_t kTrue = 0xc3;
constexpr std::uint8_t kUint16 = 0xcd;
constexpr std::uint8_t kUint32 = 0xce;
constexpr std::uint8_t kUint64 = 0xcf;
constexpr std::uint8_t kInt16 = 0xd1;
constexpr std::uint8_t kInt32 = 0xd2;
constexpr std::uint8_t kInt64 = 0xd3;
constexpr std::uint8_t kFixext16 = 0xd8;
constexpr std::uint8_t kArray16 = 0xdc;
constexpr std::uint8_t kMap16 = 0xde;
constexpr std::uint8_t kArray3 = 0x93;
constexpr std::uint8_t kArray4 = 0x94;
constexpr std::uint8_t kArray14 = 0x9e;
constexpr std::string_view kMagic(
    "\xa8"
    "b2frame\0",
    9);

constexpr std::uint8_t kFormatRegular = 2;
constexpr std::uint8_t kFormatVersion3 = 3;  // chunks or blocks of varying size
constexpr std::uint8_t kOffsets64 = 0x10;
constexpr std::uint8_t kVariableChunks = 0x40;
constexpr std::uint8_t kVlBlocks = 0x80;
constexpr std::uint8_t kSplitForwardCompat = 3;
constexpr std::size_t kHeaderLenAt = 11;
constexpr std::size_t kTrailerTailBytes = 23;  // trailer_len with its marker, and the fingerprint

template <std::integral T>
void append_marked(Bytes& to, std::uint8_t marker, T value) {
  append_be<std::uint8_t>(to, marker);
  append_be<T>(to, value);
}

bool has_vl_blocks(const FrameSpec& spec) {
  constexpr std::size_t kFlags2At = 30;
  return std::ranges::any_of(spec.chunks, [](const FrameChunk& chunk) {
    return chunk.stored.size() > kFlags2At &&
           (chunk.stored[kFlags2At] & std::byte{1}) != std::byte{0};
  });
}

std::uint8_t general_flags(const FrameSpec& spec) {
  const bool varies = spec.chunksize == 0;
  const bool vl = has_vl_blocks(spec);
  unsigned flags = (varies || vl ? kFormatVersion3 : kFormatRegular) | kOffsets64;
  if (varies) flags |= kVariableChunks;
  if (vl) flags |= kVlBlocks;
  return static_cast<std::uint8_t>(flags);
}

// Appends the filter slots, the codec and their parameters: an extension type of 16 bytes.
void append_pipeline(Bytes& to, const FrameSpec& spec) {
  append_be<std::uint8_t>(to, kFixext16);
  append_be<std::uint8_t>(to, kFilterSlots);
  const std::size_t unused = kFilterSlots - spec.filters.size();
  for (std::size_t slot = 0; slot < kFilterSlots; ++slot) {
    append_be<std::uint8_t>(
        to, slot < unused ? 0 : static_cast<std::uint8_t>(spec.filters[slot - unused]));
  }
  append_be<std::uint8_t>(to, codec_number(spec.codec));
  append_be<std::uint8_t>(to, 0);                   // compcode_meta
  to.insert(to.end(), kFilterSlots, std::byte{0});  // filters_meta
  append_be<std::uint8_t>(to, 0);                   // other_flags2
  append_be<std::uint8_t>(to, 0);
}

}  // namespace

void append_metalayers(Bytes& to, std::span<const Metalayer> layers, std::size_t size_counts_from) {
  append_be<std::uint8_t>(to, kArray3);
  const std::size_t idx_size_at = to.size() + 1;
  append_marked<std::uint16_t>(to, kUint16, 0);
  append_marked(to, kMap16, static_cast<std::uint16_t>(layers.size()));
  std::vector<std::size_t> place_at;
  for (const Metalayer& layer : layers) {
    append_be<std::uint8_t>(to, static_cast<std::uint8_t>(kStrBase | layer.name.size()));
    append(to, layer.name);
    place_at.push_back(to.size() + 1);
    append_marked<std::int32_t>(to, kInt32, 0);
  }
  put_be(to, idx_size_at, static_cast<std::uint16_t>(to.size() - size_counts_from));
  append_marked(to, kArray16, static_cast<std::uint16_t>(layers.size()));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    put_be(to, place_at[i], static_cast<std::int32_t>(to.size()));
    append_marked(to, kBin32, static_cast<std::uint32_t>(layers[i].content.size()));
    append(to, layers[i].content);
  }
}

void check_chunks(const FrameSpec& spec) {
  demand(spec.filters.size() <= kFilterSlots, "more filters than slots");
  for (std::size_t i = 0; i < spec.chunks.size(); ++i) {
    const FrameChunk& chunk = spec.chunks[i];
    demand(chunk.stored.empty() == chunk.special.has_value(), "a chunk both stored and a rule");
    const bool last = i + 1 == spec.chunks.size();
    demand(spec.chunksize == 0 || chunk.nbytes == spec.chunksize ||
               (last && chunk.nbytes < spec.chunksize),
           "a chunk of another size than chunksize");
  }
}

FrameChunk stored_chunk(std::span<const std::byte> data, const ChunkSpec& spec) {
  return {.stored = build_chunk(data, spec),
          .special = std::nullopt,
          .nbytes = static_cast<std::uint32_t>(data.size())};
}

FrameChunk index_only_chunk(SpecialKind kind, std::uint32_t nbytes) {
  return {.stored = {}, .special = kind, .nbytes = nbytes};
}

Bytes build_frame_header(const FrameSpec& spec, const FrameNumbers& numbers) {
  Bytes out;
  append_be<std::uint8_t>(out, kArray14);
  append(out, kMagic);
  append_marked<std::int32_t>(out, kInt32, 0);  // header_len, set at the end
  append_marked(out, kUint64, numbers.frame_bytes);
  append_be<std::uint8_t>(out, kStr4);
  append_be<std::uint8_t>(out, general_flags(spec));
  append_be<std::uint8_t>(out, numbers.is_sparse ? 1 : 0);
  append_be<std::uint8_t>(out,
                          static_cast<std::uint8_t>(codec_number(spec.codec) | spec.level << 4));
  append_be<std::uint8_t>(out, kSplitForwardCompat);
  append_marked(out, kInt64, static_cast<std::int64_t>(numbers.nbytes));
  append_marked(out, kInt64, static_cast<std::int64_t>(numbers.cbytes));
  append_marked(out, kInt32, static_cast<std::int32_t>(spec.typesize));
  append_marked(out, kInt32, static_cast<std::int32_t>(spec.blocksize));
  append_marked(out, kInt32, static_cast<std::int32_t>(spec.chunksize));
  append_marked<std::int16_t>(out, kInt16, 1);  // threads of the writer
  append_marked<std::int16_t>(out, kInt16, 1);
  append_be<std::uint8_t>(out, spec.vlmetalayers.empty() ? kFalse : kTrue);
  append_pipeline(out, spec);
  append_metalayers(out, spec.metalayers, out.size());
  put_be(out, kHeaderLenAt, static_cast<std::int32_t>(out.size()));
  return out;
}

std::int64_t special_index_entry(SpecialKind kind) {
  // Source: frame format, "Index": bit 63, and the kind in bits 56-58.
  switch (kind) {
    case SpecialKind::zero:
      return static_cast<std::int64_t>(0x81ULL << 56);
    case SpecialKind::nan:
      return static_cast<std::int64_t>(0x82ULL << 56);
    case SpecialKind::uninit:
      return static_cast<std::int64_t>(0x84ULL << 56);
    case SpecialKind::value:
      break;
  }
  demand(false, "a repeated value has no index entry");
  return 0;
}

Bytes build_index_chunk(std::span<const std::int64_t> entries, IndexForm form) {
  Bytes plain;
  for (const std::int64_t entry : entries) append_le(plain, entry);
  ChunkSpec spec;
  spec.typesize = sizeof(std::int64_t);
  switch (form) {
    case IndexForm::memcpyed:
      spec.codec = Codec::memcpy;
      break;
    case IndexForm::blosclz:
      spec.codec = Codec::blosclz;
      spec.filters = {Filter::shuffle};
      break;
    case IndexForm::zstd:
      spec.codec = Codec::zstd;
      spec.filters = {Filter::shuffle};
      break;
    case IndexForm::value:
      demand(std::ranges::adjacent_find(entries, std::ranges::not_equal_to{}) == entries.end(),
             "an index of differing entries as one value");
      return build_special_chunk(SpecialKind::value, static_cast<std::uint32_t>(plain.size()),
                                 spec.typesize, std::span(plain).first(sizeof(std::int64_t)));
  }
  return build_chunk(plain, spec);
}

Bytes build_trailer(std::span<const Metalayer> vlmetalayers) {
  std::vector<Metalayer> stored;
  for (const Metalayer& layer : vlmetalayers) {
    ChunkSpec spec;
    spec.codec = Codec::memcpy;
    spec.typesize = 1;
    stored.push_back({.name = layer.name, .content = build_chunk(layer.content, spec)});
  }
  Bytes out;
  append_be<std::uint8_t>(out, kArray4);
  append_be<std::uint8_t>(out, 1);  // version of the trailer
  append_metalayers(out, stored, out.size() + 1);
  append_marked(out, kUint32, static_cast<std::uint32_t>(out.size() + kTrailerTailBytes));
  append_be<std::uint8_t>(out, kFixext16);
  out.insert(out.end(), 17, std::byte{0});  // no fingerprint
  return out;
}

BuiltFrame assemble_frame(const FrameSpec& spec, const HeaderOf& header_of, const Bytes& trailer) {
  check_chunks(spec);
  BuiltFrame frame;
  FrameNumbers numbers;
  frame.header_bytes = header_of(numbers).size();
  frame.bytes.resize(frame.header_bytes + spec.dead_bytes_before_chunks, std::byte{0xdd});

  std::vector<std::int64_t> entries;
  for (const FrameChunk& chunk : spec.chunks) {
    numbers.nbytes += chunk.nbytes;
    frame.chunk_at.push_back(chunk.special ? 0 : frame.bytes.size());
    entries.push_back(chunk.special
                          ? special_index_entry(*chunk.special)
                          : static_cast<std::int64_t>(frame.bytes.size() - frame.header_bytes));
    append(frame.bytes, chunk.stored);
  }
  numbers.cbytes = frame.bytes.size() - frame.header_bytes;
  frame.index_at = frame.bytes.size();
  if (!entries.empty()) append(frame.bytes, build_index_chunk(entries, spec.index));
  frame.trailer_at = frame.bytes.size();
  append(frame.bytes, trailer);
  numbers.frame_bytes = frame.bytes.size();
  std::ranges::copy(header_of(numbers), frame.bytes.begin());
  return frame;
}

BuiltFrame build_frame(const FrameSpec& spec) {
  const auto header_of = [&](const FrameNumbers& numbers) {
    return build_frame_header(spec, numbers);
  };
  return assemble_frame(spec, header_of, build_trailer(spec.vlmetalayers));
}

}  // namespace framefs::test

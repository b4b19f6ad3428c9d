#include "tests/support/chunk_builder.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "tests/support/demand.h"
#include "tests/support/forward_filters.h"
#include "tests/support/stream_encoder.h"

namespace framefs::test {
namespace {

// Source: chunk format, "Header".
constexpr std::uint8_t kFlagShuffle = 0x01;
constexpr std::uint8_t kFlagMemcpyed = 0x02;
constexpr std::uint8_t kFlagBitshuffle = 0x04;
constexpr std::uint8_t kFlagDelta = 0x08;
constexpr std::uint8_t kFlagDontSplit = 0x10;
constexpr std::uint8_t kExtendedForm = kFlagShuffle | kFlagBitshuffle;
constexpr std::uint8_t kFlagUseDict = 0x01;
constexpr std::uint8_t kFlagVlBlocks = 0x01;
constexpr std::uint8_t kVersionBlosc1 = 2;
constexpr std::uint8_t kVersionVlBlocks = 6;
constexpr std::uint8_t kNdcell = 32;
constexpr std::size_t kCbytesAt = 12;
constexpr std::size_t kExtendedHeaderBytes = 32;

std::uint8_t format_number(Codec codec) {
  switch (codec) {
    case Codec::memcpy:
    case Codec::blosclz:
      return 0;
    case Codec::lz4:
    case Codec::lz4hc:
      return 1;
    case Codec::snappy:
      return 2;
    case Codec::zlib:
      return 3;
    case Codec::zstd:
      return 4;
  }
  return 0;
}

std::int32_t as_i32(std::size_t value) {
  demand(value <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()), "too large");
  return static_cast<std::int32_t>(value);
}

std::uint8_t typesize_byte(std::uint32_t typesize) {
  demand(typesize >= 1, "typesize 0");
  return static_cast<std::uint8_t>(typesize > 255 ? 1 : typesize);
}

void check(const ChunkSpec& spec, std::span<const std::byte> data) {
  demand(spec.filters.size() + (spec.cells ? 1 : 0) <= kFilterSlots, "more filters than slots");
  const auto has = [&](Filter f) {
    return std::ranges::find(spec.filters, f) != spec.filters.end();
  };
  demand(!has(Filter::delta) || spec.vl_block_bytes.empty(), "delta in variable-length blocks");
  demand(!has(Filter::delta) || spec.filters.front() == Filter::delta,
         "delta not the first filter");
  demand(!spec.blosc1_header || (spec.vl_block_bytes.empty() && spec.dictionary.empty() &&
                                 !has(Filter::bytedelta) && !spec.plugin && !spec.cells),
         "not expressible in a 16-byte header");
  demand(!spec.split || (spec.blocksize != 0 ? spec.blocksize : data.size()) % spec.typesize == 0,
         "split blocks of broken items");
  const auto vl_total =
      std::accumulate(spec.vl_block_bytes.begin(), spec.vl_block_bytes.end(), std::uint64_t{0});
  demand(spec.vl_block_bytes.empty() || vl_total == data.size(), "block lengths off the data's");
  demand(spec.vl_block_bytes.empty() || spec.codec != Codec::memcpy,
         "memcpyed variable-length blocks");
}

std::uint8_t flags_byte(const ChunkSpec& spec) {
  constexpr std::uint8_t kPlugin = 6;
  unsigned flags = unsigned{spec.plugin ? kPlugin : format_number(spec.codec)} << 5;
  if (spec.codec == Codec::memcpy) {
    flags |= kFlagMemcpyed;
  } else if (!spec.split || !spec.vl_block_bytes.empty()) {
    flags |= kFlagDontSplit;
  }
  if (!spec.blosc1_header) return static_cast<std::uint8_t>(flags | kExtendedForm);
  for (const Filter filter : spec.filters) {
    if (filter == Filter::shuffle) flags |= kFlagShuffle;
    if (filter == Filter::bitshuffle) flags |= kFlagBitshuffle;
    if (filter == Filter::delta) flags |= kFlagDelta;
  }
  return static_cast<std::uint8_t>(flags);
}

std::uint8_t version_byte(const ChunkSpec& spec) {
  if (spec.blosc1_header) return kVersionBlosc1;
  return spec.vl_block_bytes.empty() ? spec.version : kVersionVlBlocks;
}

// The header, with cbytes still 0.
Bytes build_header(const ChunkSpec& spec, std::size_t nbytes, std::size_t blocksize_field) {
  Bytes out;
  append_le<std::uint8_t>(out, version_byte(spec));
  append_le<std::uint8_t>(out, 1);  // versionlz
  append_le<std::uint8_t>(out, flags_byte(spec));
  append_le<std::uint8_t>(out, typesize_byte(spec.typesize));
  append_le<std::int32_t>(out, as_i32(nbytes));
  append_le<std::int32_t>(out, as_i32(blocksize_field));
  append_le<std::int32_t>(out, 0);
  if (spec.blosc1_header) return out;
  std::array<std::uint8_t, kFilterSlots> filters{};
  std::array<std::uint8_t, kFilterSlots> metas{};
  const std::size_t unused = kFilterSlots - spec.filters.size();
  for (std::size_t i = 0; i < spec.filters.size(); ++i) {
    filters[unused + i] = static_cast<std::uint8_t>(spec.filters[i]);
  }
  if (spec.cells) {
    filters.at(unused - 1) = kNdcell;
    metas.at(unused - 1) = spec.cells->side;
  }
  for (const auto filter : filters) append_le(out, filter);
  append_le(out, spec.plugin ? spec.plugin->id : codec_number(spec.codec));
  append_le<std::uint8_t>(out, spec.plugin ? spec.plugin->meta : 0);
  for (const auto meta : metas) append_le(out, meta);
  append_le<std::uint8_t>(out, spec.vl_block_bytes.empty() ? 0 : kFlagVlBlocks);
  append_le<std::uint8_t>(out, spec.dictionary.empty() ? 0 : kFlagUseDict);
  return out;
}

Bytes filtered(const ChunkSpec& spec, std::span<const std::byte> block,
               std::span<const std::byte> first_block) {
  Bytes out(block.begin(), block.end());
  if (spec.cells)
    out = ndcell_forward(out, spec.cells->block_shape, spec.cells->side, spec.typesize);
  for (const Filter filter : spec.filters) {
    out = filter_forward(filter, out, typesize_byte(spec.typesize), first_block);
  }
  return out;
}

bool is_run(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [&](std::byte b) { return b == bytes.front(); });
}

Bytes encoded(const ChunkSpec& spec, std::span<const std::byte> plain) {
  if (spec.plugin) return spec.plugin->encode(plain);
  return compress_stream(spec.codec, spec.level, plain, spec.dictionary);
}

// Source: chunk format, streams.
void append_stream(Bytes& out, const ChunkSpec& spec, std::span<const std::byte> plain) {
  if (spec.token_runs && !spec.blosc1_header && is_run(plain)) {
    const auto value = std::to_integer<std::int32_t>(plain.front());
    append_le<std::int32_t>(out, -value);
    if (value != 0) append_le<std::uint8_t>(out, 1);
    return;
  }
  const Bytes packed = encoded(spec, plain);
  const bool raw = packed.empty() || packed.size() >= plain.size();
  append_le<std::int32_t>(out, as_i32(raw ? plain.size() : packed.size()));
  append(out, raw ? plain : packed);
}

// Source: chunk format, "Variable-length blocks": the decoded size, then raw or codec bytes.
void append_vl_block(Bytes& out, const ChunkSpec& spec, std::span<const std::byte> plain) {
  const Bytes packed = encoded(spec, plain);
  append_le<std::int32_t>(out, as_i32(plain.size()));
  append(out, packed.empty() || packed.size() >= plain.size() ? plain : packed);
}

std::vector<std::span<const std::byte>> cut_into_blocks(std::span<const std::byte> data,
                                                        const ChunkSpec& spec,
                                                        std::size_t blocksize) {
  std::vector<std::span<const std::byte>> blocks;
  for (std::size_t i = 0; !data.empty(); ++i) {
    const std::size_t wanted = spec.vl_block_bytes.empty() ? blocksize : spec.vl_block_bytes.at(i);
    const std::size_t n = std::min(wanted, data.size());
    demand(n > 0, "block of no bytes");
    blocks.push_back(data.first(n));
    data = data.subspan(n);
  }
  return blocks;
}

void append_blocks(Bytes& out, const ChunkSpec& spec, std::size_t blocksize,
                   const std::vector<std::span<const std::byte>>& blocks) {
  const std::size_t starts_at = out.size();
  out.resize(starts_at + 4 * blocks.size());
  if (!spec.dictionary.empty()) {
    append_le<std::int32_t>(out, as_i32(spec.dictionary.size()));
    append(out, spec.dictionary);
  }
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    put_le<std::int32_t>(out, starts_at + 4 * k, as_i32(out.size()));
    const auto first_block = k == 0 ? std::span<const std::byte>{} : blocks.front();
    const Bytes block = filtered(spec, blocks[k], first_block);
    if (!spec.vl_block_bytes.empty()) {
      append_vl_block(out, spec, block);
      continue;
    }
    const bool leftover = block.size() < blocksize;
    const std::size_t streams = spec.split && !leftover ? typesize_byte(spec.typesize) : 1;
    const std::size_t stream_bytes = block.size() / streams;
    for (std::size_t j = 0; j < streams; ++j) {
      append_stream(out, spec, std::span(block).subspan(j * stream_bytes, stream_bytes));
    }
  }
}

}  // namespace

Bytes build_chunk(std::span<const std::byte> data, const ChunkSpec& spec) {
  check(spec, data);
  const std::size_t whole = std::max<std::size_t>(data.size(), 1);
  const std::size_t blocksize = spec.blocksize != 0 ? spec.blocksize : whole;
  const auto blocks = cut_into_blocks(data, spec, blocksize);
  Bytes out = build_header(
      spec, data.size(), spec.vl_block_bytes.empty() ? std::min(blocksize, whole) : blocks.size());
  if (spec.codec == Codec::memcpy) {
    append(out, data);
  } else if (!data.empty()) {
    append_blocks(out, spec, std::min(blocksize, whole), blocks);
  }
  put_le<std::int32_t>(out, kCbytesAt, as_i32(out.size()));
  return out;
}

Bytes build_special_chunk(SpecialKind kind, std::uint32_t nbytes, std::uint32_t typesize,
                          std::span<const std::byte> value) {
  demand((kind == SpecialKind::value) == !value.empty(), "a value for another kind, or none");
  ChunkSpec spec;
  spec.typesize = typesize;
  Bytes out = build_header(spec, nbytes, nbytes);
  out.back() = static_cast<std::byte>(static_cast<unsigned>(kind) << 4);
  append(out, value);
  put_le<std::int32_t>(out, kCbytesAt, as_i32(out.size()));
  demand(out.size() == kExtendedHeaderBytes + value.size(), "special chunk of another size");
  return out;
}

std::uint8_t codec_number(Codec codec) {
  switch (codec) {
    case Codec::memcpy:
    case Codec::blosclz:
      return 0;
    case Codec::lz4:
      return 1;
    case Codec::lz4hc:
      return 2;
    case Codec::snappy:
      return 3;
    case Codec::zlib:
      return 4;
    case Codec::zstd:
      return 5;
  }
  return 0;
}

}  // namespace framefs::test

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/support/array_builder.h"
#include "tests/support/frame_builder.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"

namespace framefs::test {

// An array stored in chunks of all kinds, and the bytes that it must be shown as.
struct ArraySample {
  ArraySpec spec;
  FrameSpec frame;
  Bytes data;               // in C order
  std::vector<bool> zeros;  // for each byte: whether its chunk is zero by its index entry
};

// Replaces chunk `index` by a chunk of another kind, and its bytes in the data by repetitions of
// `pattern`.
inline void replace_chunk(ArraySample& sample, std::size_t index, FrameChunk chunk,
                          std::span<const std::byte> pattern) {
  const bool is_zero_entry =
      chunk.special == SpecialKind::zero || chunk.special == SpecialKind::uninit;
  sample.frame.chunks[index] = std::move(chunk);
  const std::size_t typesize = sample.spec.typesize;
  for (std::uint64_t item = 0; item * typesize < sample.data.size(); ++item) {
    if (chunk_of_item(sample.spec, item) != index) continue;
    for (std::size_t byte = 0; byte < typesize; ++byte) {
      sample.data[item * typesize + byte] = pattern[byte % pattern.size()];
      sample.zeros[item * typesize + byte] = is_zero_entry;
    }
  }
}

inline ArraySample array_sample(const ArraySpec& spec, std::uint32_t seed) {
  ArraySample sample{
      .spec = spec, .frame = {}, .data = ramp(array_bytes(spec), spec.typesize, seed), .zeros = {}};
  sample.frame = array_frame(spec, sample.data);
  sample.zeros.resize(sample.data.size());
  return sample;
}

// Replaces a chunk by one that follows a rule, in the index or stored.
inline void replace_by_rule(ArraySample& sample, std::size_t index, std::mt19937& random) {
  const std::uint32_t typesize = sample.spec.typesize;
  const std::uint32_t nbytes = sample.frame.chunksize;
  const Bytes zero(1);
  const auto stored = [&](SpecialKind kind, const Bytes& value) {
    return FrameChunk{.stored = build_special_chunk(kind, nbytes, typesize, value),
                      .special = std::nullopt,
                      .nbytes = nbytes};
  };
  switch (random() % 6) {
    case 0:
      return replace_chunk(sample, index, index_only_chunk(SpecialKind::uninit, nbytes), zero);
    case 1: {
      const Bytes value = noise(typesize, draw(random));
      return replace_chunk(sample, index, stored(SpecialKind::value, value), value);
    }
    case 2:
      return replace_chunk(sample, index, stored(SpecialKind::zero, {}), zero);
    case 3:
      if (typesize == 4 || typesize == 8) {
        Bytes nan(typesize);
        nan[typesize - 1] = std::byte{0x7f};
        nan[typesize - 2] = typesize == 4 ? std::byte{0xc0} : std::byte{0xf8};
        return replace_chunk(sample, index, index_only_chunk(SpecialKind::nan, nbytes), nan);
      }
      [[fallthrough]];
    default:
      return replace_chunk(sample, index, index_only_chunk(SpecialKind::zero, nbytes), zero);
  }
}

inline ArraySpec random_array_spec(std::mt19937& random) {
  constexpr std::array<std::uint32_t, 8> kTypesizes = {1, 1, 2, 3, 4, 8, 16, 260};
  constexpr std::array kCodecs = {Codec::lz4, Codec::zstd, Codec::blosclz, Codec::memcpy};
  const std::vector<std::vector<Filter>> filters = {
      {}, {Filter::shuffle}, {Filter::bitshuffle}, {Filter::delta, Filter::shuffle}};
  ArraySpec spec;
  spec.typesize = kTypesizes[random() % kTypesizes.size()];
  spec.dtype = "|V" + std::to_string(spec.typesize);
  const std::size_t ndim = random() % 5;
  const std::uint64_t most = ndim <= 2 ? 30 : 9;
  for (std::size_t d = 0; d < ndim; ++d) {
    spec.shape.push_back(random() % most + 1);
    // Chunks may be larger than the array.  Blocks are at most as large as the chunks.
    const auto chunk = static_cast<std::uint32_t>(random() % (spec.shape.back() + 3) + 1);
    spec.chunkshape.push_back(chunk);
    spec.blockshape.push_back(draw(random) % chunk + 1);
  }
  spec.chunk.codec = kCodecs[random() % kCodecs.size()];
  if (spec.typesize <= 16) spec.chunk.filters = filters[random() % filters.size()];
  spec.padding = static_cast<std::byte>(random());
  return spec;
}

// An array of random shape in which some chunks are replaced by other kinds.
inline ArraySample random_array_sample(std::mt19937& random) {
  auto sample = array_sample(random_array_spec(random), draw(random));
  for (std::size_t i = 0; i < sample.frame.chunks.size(); ++i) {
    if (random() % 3 == 0) replace_by_rule(sample, i, random);
  }
  sample.frame.index = random() % 2 == 0 ? IndexForm::memcpyed : IndexForm::zstd;
  return sample;
}

}  // namespace framefs::test

#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"

namespace framefs::test {

// Decodes a frame with the codec's serial reader, which shares no code with the view.
inline Bytes decode(const Bytes& bytes) {
  const codec::MemorySource source(bytes);
  const codec::Limits limits;
  const auto frame = codec::Frame::open(source, limits);
  REQUIRE(frame);
  Bytes all(frame->nbytes());
  REQUIRE(codec::FrameReader(source, *frame, limits).read(0, all));
  return all;
}

inline ChunkSpec random_chunk_spec(std::mt19937& random, std::uint32_t typesize) {
  constexpr std::array kCodecs = {Codec::memcpy, Codec::lz4, Codec::zlib, Codec::zstd};
  const std::vector<std::vector<Filter>> filters = {
      {}, {Filter::shuffle}, {Filter::bitshuffle}, {Filter::delta, Filter::shuffle}};
  ChunkSpec spec;
  spec.codec = kCodecs[random() % kCodecs.size()];
  spec.typesize = typesize;
  spec.blocksize = typesize * (draw(random) % 100 + 1);
  spec.filters = filters[random() % filters.size()];
  return spec;
}

// A chunk of `nbytes` of a random kind: stored, repeated values, or a rule in the index.
inline FrameChunk random_chunk(std::mt19937& random, std::uint32_t typesize, std::uint32_t nbytes,
                               bool rules) {
  const auto kind = random() % 8;
  if (kind == 0 && rules) return index_only_chunk(SpecialKind::zero, nbytes);
  if (kind == 1 && rules) return index_only_chunk(SpecialKind::nan, nbytes);
  if (kind == 2 && rules) return index_only_chunk(SpecialKind::uninit, nbytes);
  if (kind == 3) {
    const auto value = noise(typesize, draw(random));
    return {.stored = build_special_chunk(SpecialKind::value, nbytes, typesize, value),
            .special = std::nullopt,
            .nbytes = nbytes};
  }
  return stored_chunk(ramp(nbytes, typesize, draw(random)), random_chunk_spec(random, typesize));
}

}  // namespace framefs::test

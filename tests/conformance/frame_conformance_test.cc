#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"
#include "codec/core/checked.h"
#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/metalayer_content.h"
#include "tests/conformance/frame_fixture.h"
#include "tests/conformance/manifest.h"
#include "tests/conformance/verdict.h"
#include "tests/support/catch.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/sha256.h"

namespace framefs::test::frame_conformance_test {
namespace {

using codec::ChunkIndex;
using codec::Frame;
using codec::FrameReader;
using codec::Limits;
using codec::Result;
using codec::Status;

void check_header(const ManifestEntry& entry, const Frame& frame) {
  const auto& header = frame.header();
  CHECK(frame.nbytes() == entry.nbytes);
  CHECK(frame.chunk_count() == entry.nchunks);
  if (entry.typesize) CHECK(header.typesize == *entry.typesize);
  if (entry.chunksize && entry.nbytes > 0) CHECK(header.chunksize == *entry.chunksize);
  if (entry.clevel) CHECK(header.clevel == *entry.clevel);
  if (entry.splitmode) CHECK(header.splitmode == *entry.splitmode);
  if (entry.codec_meta) CHECK(header.codec_meta == *entry.codec_meta);
  for (std::size_t slot = 0; slot < entry.filters.size(); ++slot) {
    INFO("filter slot " << slot);
    CHECK(header.filters[slot].id == entry.filters[slot]);
    CHECK(header.filters[slot].meta == entry.filters_meta[slot]);
  }
}

// Whether the frame has the chunks that its array needs.
bool has_the_array_s_chunks(const codec::ArrayMeta& meta, const Frame& frame) {
  std::uint64_t chunks = 1;
  std::uint64_t chunk_bytes = frame.header().typesize;
  for (std::size_t i = 0; i < meta.ndim; ++i) {
    const std::uint64_t blocks = codec::div_ceil(meta.chunkshape[i], meta.blockshape[i]);
    chunks *= codec::div_ceil<std::uint64_t>(meta.shape[i], meta.chunkshape[i]);
    chunk_bytes *= blocks * meta.blockshape[i];
  }
  return frame.chunk_count() >= chunks && frame.header().chunksize == chunk_bytes;
}

void check_array(const ManifestEntry& entry, const Frame& frame) {
  const auto& array = frame.array();
  if (entry.array_is_damaged) {
    REQUIRE(array.has_value());
    CHECK_FALSE((array->has_value() && has_the_array_s_chunks(**array, frame)));
    return;
  }
  REQUIRE(array.has_value() == entry.array.has_value());
  if (!entry.array) return;
  REQUIRE(array->has_value());
  const codec::ArrayMeta& meta = **array;
  CHECK(std::ranges::equal(meta.array_dims(), entry.array->shape));
  CHECK(std::ranges::equal(meta.chunk_dims(), entry.array->chunkshape));
  CHECK(std::ranges::equal(meta.block_dims(), entry.array->blockshape));
  CHECK(meta.dtype == entry.array->dtype);
  CHECK(meta.dtype_format == entry.array->dtype_format);
}

template <class ReadContent>
Status check_layers(const std::vector<codec::Metalayer>& layers,
                    const std::vector<ExpectedMetalayer>& expected, bool trusted,
                    const ReadContent& read_content) {
  if (trusted) CHECK(layers.size() == expected.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    INFO("metalayer " << layers[i].name);
    FRAMEFS_TRY(const auto content, read_content(layers[i]));
    if (!trusted || i >= expected.size()) continue;
    CHECK(layers[i].name == expected[i].name);
    CHECK(content.size() == expected[i].bytes);
    CHECK(sha256_hex(content) == expected[i].sha256);
  }
  return {};
}

// Decodes each chunk by itself and checks its size, its kind and its blocks.  Returns all bytes.
Result<std::vector<std::byte>> decode_chunks(const ManifestEntry& entry,
                                             const FrameFixture& fixture, bool trusted) {
  std::vector<std::byte> all;
  FrameReader reader = fixture.reader();
  for (ChunkIndex index; index.value < fixture.frame()->chunk_count(); ++index.value) {
    INFO("chunk " << index.value);
    FRAMEFS_TRY(const auto chunk, reader.open_chunk(index));
    FRAMEFS_TRY(const auto plain, decode_by_blocks(fixture.chunks(), chunk));
    all.insert(all.end(), plain.begin(), plain.end());
    if (!trusted) continue;
    if (!entry.chunk_nbytes.empty()) CHECK(chunk.nbytes() == entry.chunk_nbytes.at(index.value));
    if (entry.chunk_special) {
      const auto special = entry.chunk_special->find(index.value);
      const int kind = special == entry.chunk_special->end() ? 0 : special->second;
      CHECK(static_cast<int>(chunk.header().special) == kind);
    }
    if (entry.vlblocks.empty()) continue;
    std::vector<std::uint64_t> block_bytes;
    for (codec::BlockIndex block; block.value < chunk.block_count(); ++block.value) {
      block_bytes.push_back(chunk.block_range(block).size);
    }
    CHECK(block_bytes == entry.vlblocks.at(index.value));
  }
  return all;
}

// Reads everything: metalayers, vl-metalayers, and the bytes in three ways.
Result<std::string> decode(const ManifestEntry& entry, const FrameFixture& fixture) {
  const Frame& frame = *fixture.frame();
  // For a damaged frame, only the outcome is known, not the fields of its header.
  const bool trusted = entry.expect == Expect::ok && !entry.may_refuse;
  if (trusted) check_header(entry, frame);
  if (entry.expect == Expect::ok) check_array(entry, frame);
  FRAMEFS_CHECK(check_layers(frame.metalayers(), entry.metalayers, trusted, [&](const auto& layer) {
    return read_metalayer(fixture.source(), layer);
  }));
  FRAMEFS_CHECK(check_layers(
      frame.vlmetalayers(), entry.vlmetalayers, trusted,
      [&](const auto& layer) { return read_vlmetalayer(fixture.source(), layer, Limits{}); }));

  constexpr std::uint64_t kMaxDamagedBytes = 64u << 20;
  if (!trusted && frame.nbytes() > kMaxDamagedBytes) {
    return codec::fail(codec::Errc::over_limit, "nbytes beyond what the test decodes");
  }
  std::vector<std::byte> whole(frame.nbytes());
  FRAMEFS_CHECK(fixture.reader().read(0, whole));
  FRAMEFS_TRY(const auto chunks, decode_chunks(entry, fixture, trusted));
  CHECK(chunks == whole);
  std::mt19937 random(static_cast<std::uint32_t>(std::hash<std::string>{}(entry.path)));
  CHECK(subranges_agree(fixture.source(), fixture.chunks(), frame, Limits{}, whole, random, 20));
  return sha256_hex(whole);
}

// A valid frame of terabytes in a few hundred bytes.  Slices must be fast to read, and are zeros.
void check_slices(const ManifestEntry& entry, const FrameFixture& fixture) {
  const Frame& frame = *fixture.frame();
  check_header(entry, frame);
  FrameReader reader = fixture.reader();
  const std::uint64_t boundary = frame.header().chunksize;
  for (const std::uint64_t offset :
       {std::uint64_t{0}, boundary - 100, frame.nbytes() / 2 + 1, frame.nbytes() - 4096}) {
    INFO("slice at " << offset);
    std::vector<std::byte> slice(4096, std::byte{1});
    REQUIRE(reader.read(offset, slice));
    CHECK(slice == std::vector<std::byte>(4096));
  }
  std::vector<std::byte> past_end(2);
  CHECK_FALSE(reader.read(frame.nbytes() - 1, past_end));
}

// The reference library no longer opens these frames.  framefs must read them.
void check_beta(const ManifestEntry& entry, const Frame& frame, const Result<std::string>& sha256,
                Tally& tally) {
  constexpr std::uint8_t kTruncPrec = 4;
  const bool is_lossy = std::ranges::any_of(
      frame.header().filters, [](const auto& filter) { return filter.id == kTruncPrec; });
  INFO("a frame of the betas: " << (sha256 ? "" : describe(sha256.error())));
  CHECK(sha256.has_value());
  // The filter is lossy: the manifest's hash is that of the writer's input, not of the stored data.
  if (is_lossy && sha256) {
    ++tally.lossy;
  } else {
    check_verdict(entry, sha256, tally);
  }
}

// Checks the entries of one kind.
Tally check_frames(const std::string& kind) {
  Tally tally;
  for (const ManifestEntry& entry : load_manifest(fixtures_folder())) {
    if (entry.kind != kind) continue;
    INFO(entry.path << " from byte " << entry.offset);
    const FrameFixture fixture(entry);
    const auto& frame = fixture.frame();
    if (!frame) {
      check_verdict(entry, std::unexpected(frame.error()), tally);
    } else if (entry.do_not_decode_whole) {
      check_slices(entry, fixture);
      ++tally.decoded;
    } else if (frame->header().layout == codec::FrameLayout::beta) {
      check_beta(entry, *frame, decode(entry, fixture), tally);
    } else {
      check_verdict(entry, decode(entry, fixture), tally);
    }
  }
  CHECK(tally.decoded > 0);
  CHECK(tally.refused > 0);
  return tally;
}

TEST_CASE("frame: contiguous frames decode as the manifest says", "[codec][frame][conformance]") {
  std::cout << "frames: " << check_frames("cframe") << '\n';
}

TEST_CASE("frame: sparse frames decode as the manifest says", "[codec][frame][conformance]") {
  std::cout << "sparse frames: " << check_frames("sframe") << '\n';
}

}  // namespace
}  // namespace framefs::test::frame_conformance_test

// Frames whose data lie elsewhere: what is not there must never be read as zeros.

#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/catch.h"
#include "tests/support/fetched_layers.h"
#include "tests/support/frame_builder.h"
#include "tests/support/memory_chunks.h"
#include "tests/support/sample_data.h"
#include "tests/support/sparse_frame_builder.h"

namespace framefs::codec::remote_cache_test {
namespace {

using test::Bytes;
using test::FrameSpec;
using test::noise;
using test::SpecialKind;

constexpr std::uint32_t kChunk = 1000;
constexpr std::uint32_t kBlock = 250;
constexpr std::size_t kBlocks = kChunk / kBlock;

// Two stored chunks, then one special chunk of each kind.
FrameSpec spec_with(const std::string& metalayer) {
  FrameSpec spec;
  spec.chunksize = kChunk;
  spec.blocksize = kBlock;
  test::ChunkSpec in_blocks;
  in_blocks.blocksize = kBlock;
  spec.chunks = {test::stored_chunk(test::ramp(kChunk, 4), in_blocks),
                 test::stored_chunk(noise(kChunk, 1), in_blocks)};
  for (const auto kind : {SpecialKind::zero, SpecialKind::nan, SpecialKind::uninit}) {
    spec.chunks.push_back(test::index_only_chunk(kind, kChunk));
  }
  if (!metalayer.empty()) spec.metalayers = {{.name = metalayer, .content = test::counting(8)}};
  return spec;
}

// For each block: its bytes can be read ('x'), are not there ('.'), or cannot be read for another
// reason ('?').  One space between chunks.
std::string map_of(const ByteSource& source, const ByteSource& chunks, const Frame& frame) {
  FrameReader reader(source, chunks, frame, {});
  std::string out;
  for (std::uint64_t at = 0; at < frame.nbytes(); at += kBlock) {
    if (at > 0 && at % kChunk == 0) out += ' ';
    Bytes bytes(kBlock);
    const auto read = reader.read(at, bytes);
    const bool is_absent = !read && read.error().kind == Errc::system && read.error().sys == EIO;
    out += read ? 'x' : is_absent ? '.' : '?';
  }
  return out;
}

std::string map_of(const FrameSpec& spec) {
  const Bytes bytes = build_frame(spec).bytes;
  const MemorySource source(bytes);
  return map_of(source, source, Frame::open(source, {}).value());
}

constexpr const char* kAll = "xxxx xxxx xxxx xxxx xxxx";
constexpr const char* kNone = ".... .... .... .... ....";

TEST_CASE("remote cache: a bitmap of blocks says which bytes are there", "[codec][frame][unit]") {
  auto spec = spec_with("proxy-source");
  const std::set<std::size_t> missing = {1, 7, 8, 9, 10, 11, 13, 14, 15, 16};
  spec.vlmetalayers = {{"proxy-fetched-blocks", test::bitmap(5 * kBlocks, missing)}};
  // An older writer's record of chunks does not count beside it.
  spec.vlmetalayers.push_back({"proxy-fetched", test::bitmap(5, {})});
  CHECK(map_of(spec) == "x.xx xxx. .... x... .xxx");

  const auto built = test::build_sparse_frame(spec);
  const MemorySource source(built.index_file);
  CHECK(map_of(source, test::MemoryChunks(built.chunks), Frame::open_sparse(source, {}).value()) ==
        "x.xx xxx. .... x... .xxx");
}

// A fetched chunk of equal values is special; a chunk that was not fetched may be stored.
TEST_CASE("remote cache: a bitmap of chunks says which chunks are there", "[codec][frame][unit]") {
  auto spec = spec_with("proxy-source");
  spec.vlmetalayers = {{"proxy-fetched", test::bitmap(5, {0, 4})}};
  CHECK(map_of(spec) == ".... xxxx xxxx xxxx ....");
  // A bitmap of blocks that does not fit is no record.
  spec.vlmetalayers.push_back({"proxy-fetched-blocks", test::bitmap(100, {})});
  CHECK(map_of(spec) == ".... xxxx xxxx xxxx ....");
}

TEST_CASE("remote cache: without a record of its blocks, nothing is there",
          "[codec][frame][unit]") {
  auto spec = spec_with("proxy-source");
  CHECK(map_of(spec) == kNone);
  for (const auto& content : {Bytes{}, test::counting(3), test::bitmap(12, {}),
                              test::bitmap(40, {}), Bytes(5, std::byte{0xC6})}) {
    spec.vlmetalayers = {{"proxy-fetched", content}};
    CHECK(map_of(spec) == kNone);
    spec.vlmetalayers = {{"proxy-fetched-blocks", content}};
    CHECK(map_of(spec) == kNone);
  }
}

TEST_CASE("remote cache: before the records, chunks of one block that are not special are there",
          "[codec][frame][unit]") {
  for (const std::uint32_t blocksize : {kChunk, 0U}) {
    auto spec = spec_with("proxy-source");
    spec.blocksize = blocksize;
    CHECK(map_of(spec) == "xxxx xxxx .... .... ....");
  }
}

TEST_CASE("remote cache: if the frame does not say its blocks, the cache does",
          "[codec][frame][unit]") {
  auto spec = spec_with("proxy-source");
  spec.blocksize = 0;
  spec.vlmetalayers = {{"proxy-fetched-blocks", test::bitmap(5 * kBlocks, {0})},
                       {"proxy-fetched-bpc", Bytes{std::byte{kBlocks}}}};
  // The size of its blocks is unknown, so a chunk that lacks one has nothing that counts.
  CHECK(map_of(spec) == ".... xxxx xxxx xxxx xxxx");

  // Also if the record of the blocks is much longer than one of chunks.
  for (std::size_t i = 0; i < 95; ++i) spec.chunks.push_back(spec.chunks[i]);
  spec.vlmetalayers[0].content = test::bitmap(100 * kBlocks, {399});
  const auto map = map_of(spec);
  CHECK(map.starts_with("xxxx xxxx"));
  CHECK(map.ends_with("xxxx ...."));
}

TEST_CASE("frame: other metalayers make no cache", "[codec][frame][unit]") {
  for (const std::string name : {"b2nd", "proxy", "proxy-source2", "Proxy-source"}) {
    CAPTURE(name);
    CHECK(map_of(spec_with(name)) == kAll);
  }
  // A vl-metalayer of that name belongs to the user.
  for (const std::string name : {"proxy-source", "b2o", "_LazyArray"}) {
    auto spec = spec_with("m");
    spec.vlmetalayers = {{.name = name, .content = test::counting(8)}};
    CHECK(map_of(spec) == kAll);
  }
}

TEST_CASE("frame: a stored recipe has no data", "[codec][frame][unit]") {
  for (const std::string name : {"b2o", "LazyArray"}) {
    const Bytes bytes = build_frame(spec_with(name)).bytes;
    const MemorySource source(bytes);
    const auto frame = Frame::open(source, {}).value();
    FrameReader reader(source, frame, {});
    for (std::uint64_t chunk = 0; chunk < frame.chunk_count(); ++chunk) {
      Bytes out(10);
      const auto read = reader.read(chunk * kChunk, out);
      REQUIRE_FALSE(read);
      CHECK(read.error().sys == EOPNOTSUPP);
    }
  }
}

// Only bytes that read as zeros are holes.
TEST_CASE("frame: zero entries are those of bytes that read as zeros", "[codec][frame][unit]") {
  for (const std::string layer : {"proxy-source", "b2o", "m"}) {
    const bool is_here = layer == "m";
    const Bytes bytes = build_frame(spec_with(layer)).bytes;
    const auto frame = Frame::open(MemorySource(bytes), {}).value();
    CHECK(frame.is_zero_entry(test::special_index_entry(SpecialKind::zero)) == is_here);
    CHECK(frame.is_zero_entry(test::special_index_entry(SpecialKind::uninit)) == is_here);
    CHECK_FALSE(frame.is_zero_entry(test::special_index_entry(SpecialKind::nan)));
    for (const std::int64_t stored :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 56, std::int64_t{0x7f} << 56}) {
      CHECK_FALSE(frame.is_zero_entry(stored));
    }
  }
}

TEST_CASE("remote cache: the blocks that are there are counted", "[codec][frame][unit]") {
  auto spec = spec_with("proxy-source");
  const auto count = [&] {
    const Bytes bytes = build_frame(spec).bytes;
    const MemorySource source(bytes);
    const auto fetched = Frame::open(source, {}).value().read_fetched(source, {}).value().value();
    return std::pair(fetched.count(), fetched.total());
  };
  CHECK(count() == std::pair<std::uint64_t, std::uint64_t>(0, 5));
  auto bits = test::bitmap(20, {2, 3, 19});
  bits.back() |= std::byte{0xF0};  // of no block
  spec.vlmetalayers = {{"proxy-fetched-blocks", bits}};
  CHECK(count() == std::pair<std::uint64_t, std::uint64_t>(17, 20));
}

}  // namespace
}  // namespace framefs::codec::remote_cache_test

// Local copies of remote data: chunks that were not fetched must never be read as zeros.

#include <string>
#include <vector>

#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"
#include "tests/support/memory_chunks.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/sparse_frame_builder.h"

namespace framefs::codec::proxy_frame_test {
namespace {

using test::Bytes;
using test::FrameSpec;
using test::noise;
using test::outcome;
using test::SpecialKind;

const std::vector<SpecialKind> kRules = {SpecialKind::zero, SpecialKind::nan, SpecialKind::uninit};

// A stored chunk, then one special chunk of each kind.
FrameSpec spec_with(const std::string& metalayer) {
  FrameSpec spec;
  spec.chunksize = 1000;
  spec.chunks = {test::stored_chunk(noise(1000, 1), {})};
  for (const auto kind : kRules) spec.chunks.push_back(test::index_only_chunk(kind, 1000));
  spec.metalayers = {{.name = metalayer, .content = test::counting(8)}};
  return spec;
}

// The outcome of reading each chunk.
std::vector<std::string> outcomes(const ByteSource& source, const ByteSource& chunks,
                                  const Frame& frame) {
  FrameReader reader(source, chunks, frame, {});
  std::vector<std::string> out;
  for (std::uint64_t chunk = 0; chunk < frame.chunk_count(); ++chunk) {
    Bytes bytes(1000);
    out.push_back(outcome(reader.read(1000 * chunk, bytes)));
  }
  return out;
}

constexpr const char* kUnfetched = "unsupported: chunk that a proxy has not fetched at 24";

TEST_CASE("frame: a chunk that a proxy has not fetched cannot be read", "[codec][frame][unit]") {
  const Bytes bytes = build_frame(spec_with("proxy-source")).bytes;
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, {}).value();
  CHECK(outcomes(source, source, frame) == std::vector<std::string>{"ok", "ok", "ok", kUnfetched});
  CHECK(outcome(frame.open_chunk(source, {3}, test::special_index_entry(SpecialKind::uninit),
                                 {})) == kUnfetched);
}

TEST_CASE("frame: a chunk that a sparse proxy has not fetched cannot be read",
          "[codec][frame][unit]") {
  const auto built = test::build_sparse_frame(spec_with("proxy-source"));
  const MemorySource source(built.index_file);
  const auto frame = Frame::open_sparse(source, {}).value();
  CHECK(outcomes(source, test::MemoryChunks(built.chunks), frame) ==
        std::vector<std::string>{"ok", "ok", "ok", kUnfetched});
}

TEST_CASE("frame: other metalayers make no proxy", "[codec][frame][unit]") {
  for (const std::string name : {"b2nd", "proxy", "proxy-source2", "Proxy-source"}) {
    CAPTURE(name);
    const Bytes bytes = build_frame(spec_with(name)).bytes;
    const MemorySource source(bytes);
    const auto frame = Frame::open(source, {}).value();
    CHECK(outcomes(source, source, frame) == std::vector<std::string>(4, "ok"));
  }
}

// A vl-metalayer of that name belongs to the user.
TEST_CASE("frame: a vl-metalayer makes no proxy", "[codec][frame][unit]") {
  auto spec = spec_with("m");
  spec.vlmetalayers = {{.name = "proxy-source", .content = test::counting(8)}};
  const Bytes bytes = build_frame(spec).bytes;
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, {}).value();
  CHECK(outcomes(source, source, frame) == std::vector<std::string>(4, "ok"));
}

// Only bytes that read as zeros are holes.
TEST_CASE("frame: zero entries are those of bytes that read as zeros", "[codec][frame][unit]") {
  for (const bool is_proxy : {false, true}) {
    const Bytes bytes = build_frame(spec_with(is_proxy ? "proxy-source" : "m")).bytes;
    const auto frame = Frame::open(MemorySource(bytes), {}).value();
    CHECK(frame.is_zero_entry(test::special_index_entry(SpecialKind::zero)));
    CHECK(frame.is_zero_entry(test::special_index_entry(SpecialKind::uninit)) == !is_proxy);
    CHECK_FALSE(frame.is_zero_entry(test::special_index_entry(SpecialKind::nan)));
    for (const std::int64_t stored :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 56, std::int64_t{0x7f} << 56}) {
      CHECK_FALSE(frame.is_zero_entry(stored));
    }
  }
}

}  // namespace
}  // namespace framefs::codec::proxy_frame_test

// Frames whose chunks are separate files: which frames are read, and which are refused.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/metalayer_content.h"
#include "tests/support/beta_frame_builder.h"
#include "tests/support/catch.h"
#include "tests/support/damage.h"
#include "tests/support/memory_chunks.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"
#include "tests/support/source_doubles.h"
#include "tests/support/sparse_frame_builder.h"

namespace framefs::codec::sparse_frame_test {
namespace {

using test::build_sparse_frame;
using test::BuiltSparseFrame;
using test::Bytes;
using test::ChunkSpec;
using test::counting;
using test::FrameSpec;
using test::IndexForm;
using test::MemoryChunks;
using test::noise;
using test::outcome;
using test::put_be;
using test::put_le;
using test::ramp;
using test::SpecialKind;
using test::stored_chunk;

constexpr auto kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kShare = std::uint64_t{1} << 31;  // of the addresses, per file

Result<Bytes> read_all(const ByteSource& index_file, const ByteSource& chunks) {
  FRAMEFS_TRY(const Frame frame, Frame::open_sparse(index_file, {}));
  Bytes out(frame.nbytes());
  FRAMEFS_CHECK(FrameReader(index_file, chunks, frame, {}).read(0, out));
  return out;
}

Result<Bytes> read_all(const BuiltSparseFrame& built) {
  return read_all(MemorySource(built.index_file), MemoryChunks(built.chunks));
}

std::string open_outcome(std::span<const std::byte> index_file) {
  return outcome(Frame::open_sparse(MemorySource(index_file), {}));
}

// Four chunks of 1000 bytes; the third one is zeros, the last one has 500 bytes.
FrameSpec sample_spec(IndexForm index = IndexForm::memcpyed) {
  FrameSpec spec;
  spec.chunksize = 1000;
  spec.index = index;
  ChunkSpec chunk;
  chunk.blocksize = 400;
  const Bytes data = ramp(3500, 4);
  for (std::size_t at = 0; at < data.size(); at += 1000) {
    const std::size_t n = std::min<std::size_t>(1000, data.size() - at);
    spec.chunks.push_back(stored_chunk(std::span(data).subspan(at, n), chunk));
  }
  spec.chunks[2] = index_only_chunk(SpecialKind::zero, 1000);
  spec.metalayers = {{.name = "meta", .content = counting(5)}};
  spec.vlmetalayers = {{.name = "vlmeta", .content = counting(40)}};
  return spec;
}

Bytes sample_data() {
  Bytes data = ramp(3500, 4);
  std::ranges::fill(std::span(data).subspan(2000, 1000), std::byte{0});
  return data;
}

TEST_CASE("sparse frame: chunks are read from files of any numbers", "[codec][sparse][unit]") {
  const std::vector<std::vector<std::uint32_t>> numberings = {
      {}, {2, 1, 0}, {7, 3, 100}, {0xffffffff, 0, 0x80000000}, {0x7fffffff, 0xfffffffe, 1}};
  for (const auto& ids : numberings) {
    for (const auto form : {IndexForm::memcpyed, IndexForm::blosclz, IndexForm::zstd}) {
      CAPTURE(ids, static_cast<int>(form));
      const auto got = read_all(build_sparse_frame(sample_spec(form), ids));
      INFO(outcome(got));
      REQUIRE(got);
      CHECK(*got == sample_data());
    }
  }
}

TEST_CASE("sparse frame: header, metalayers and vl-metalayers are those of its index file",
          "[codec][sparse][unit]") {
  const auto built = build_sparse_frame(sample_spec());
  const MemorySource source(built.index_file);
  const auto frame = Frame::open_sparse(source, {}).value();
  CHECK(frame.header().type == FrameType::sparse);
  CHECK(frame.header().frame_len == built.index_file.size());
  CHECK(frame.nbytes() == 3500);
  CHECK(frame.chunk_count() == 4);
  CHECK(read_metalayer(source, frame.metalayers().at(0)).value() == counting(5));
  CHECK(read_vlmetalayer(source, frame.vlmetalayers().at(0), {}).value() == counting(40));
}

TEST_CASE("sparse frame: opening one reads no chunk, opening a chunk reads no other",
          "[codec][sparse][unit]") {
  const auto built = build_sparse_frame(sample_spec(), std::vector<std::uint32_t>{5, 6, 7});
  const MemorySource source(built.index_file);
  const MemoryChunks files(built.chunks);
  const test::RecordingSource chunks(files);
  const auto frame = Frame::open_sparse(source, {}).value();
  FrameReader reader(source, chunks, frame, {});
  CHECK(chunks.reads().empty());
  Bytes some(10);
  REQUIRE(reader.read(1500, some));
  const Bytes whole = sample_data();
  CHECK(std::ranges::equal(some, std::span(whole).subspan(1500, 10)));
  CHECK_FALSE(chunks.reads().empty());
  CHECK(chunks.stayed_within(std::vector<ByteRange>{{6 * kShare, built.chunks.at(6).size()}}));
}

TEST_CASE("sparse frame: chunks may vary in size", "[codec][sparse][unit]") {
  FrameSpec spec;
  Bytes data;
  for (const std::uint32_t size : {100U, 4U, 1000U, 0U, 36U}) {
    const Bytes piece = noise(size, size);
    spec.chunks.push_back(stored_chunk(piece, {}));
    test::append(data, piece);
  }
  CHECK(read_all(build_sparse_frame(spec)).value() == data);
}

TEST_CASE("sparse frame: one without chunks is its index file alone", "[codec][sparse][unit]") {
  FrameSpec spec;
  spec.vlmetalayers = {{.name = "v", .content = counting(4)}};
  for (const std::int32_t chunksize : {-1, 0, 1000}) {
    auto built = build_sparse_frame(spec);
    put_be(built.index_file, 58, chunksize);
    const MemorySource source(built.index_file);
    const auto frame = Frame::open_sparse(source, {});
    INFO(outcome(frame));
    REQUIRE(frame);
    CHECK(frame->nbytes() == 0);
    CHECK(frame->chunk_count() == 0);
    CHECK(frame->vlmetalayers().at(0).name == "v");
  }
}

// Deletions, and writers that compute the sum differently, leave such values in the header.
TEST_CASE("sparse frame: the sum of its chunks is no matter", "[codec][sparse][unit]") {
  for (const std::int64_t cbytes : {std::int64_t{0}, std::int64_t{1}, kInt64Max}) {
    CAPTURE(cbytes);
    auto built = build_sparse_frame(sample_spec());
    put_be(built.index_file, 39, cbytes);
    CHECK(read_all(built).value() == sample_data());
  }
}

TEST_CASE("sparse frame: a file longer than its chunk is read as far as that goes",
          "[codec][sparse][unit]") {
  auto built = build_sparse_frame(sample_spec());
  for (auto& [id, chunk] : built.chunks) test::append(chunk, noise(777, id));
  CHECK(read_all(built).value() == sample_data());
}

TEST_CASE("sparse frame: files that the index does not name are no matter",
          "[codec][sparse][unit]") {
  auto built = build_sparse_frame(sample_spec());
  built.chunks[3] = {};
  built.chunks[4] = noise(100, 1);
  CHECK(read_all(built).value() == sample_data());
}

TEST_CASE("sparse frame: two entries may name one file", "[codec][sparse][unit]") {
  const auto spec = sample_spec();
  const auto built = build_sparse_frame(spec);
  const MemorySource source(built.index_file);
  const MemoryChunks chunks(built.chunks);
  const auto frame = Frame::open_sparse(source, {}).value();
  CHECK(frame.open_chunk(chunks, {0}, 1, {}).has_value());
  CHECK(frame.open_chunk(chunks, {1}, 1, {}).has_value());
}

// --- Malicious frames -------------------------------------------------------------------------

TEST_CASE("sparse frame: an index that says it is contiguous is refused",
          "[codec][sparse][corrupt]") {
  auto built = build_sparse_frame(sample_spec());
  built.index_file[26] = std::byte{0};
  CHECK(open_outcome(built.index_file) == "bad field: frame type at 26");
  built.index_file[26] = std::byte{2};
  CHECK(open_outcome(built.index_file) == "bad field: frame type at 26");
}

TEST_CASE("sparse frame: a contiguous frame is refused", "[codec][sparse][corrupt]") {
  CHECK(open_outcome(build_frame(sample_spec()).bytes) == "bad field: frame type at 26");
}

TEST_CASE("sparse frame: a frame of the betas is never one", "[codec][sparse][corrupt]") {
  auto spec = sample_spec();
  spec.vlmetalayers.clear();
  auto bytes = test::build_beta_frame(spec).bytes;
  CHECK(open_outcome(bytes) == "bad field: frame type at 26");
  bytes[26] = std::byte{1};
  CHECK(open_outcome(bytes) == "bad field: frame type at 26");
}

TEST_CASE("sparse frame: every truncated index file is refused", "[codec][sparse][corrupt]") {
  for (const auto form : {IndexForm::memcpyed, IndexForm::zstd}) {
    const Bytes good = build_sparse_frame(sample_spec(form)).index_file;
    for (std::size_t n = 0; n < good.size(); ++n) {
      CAPTURE(n);
      const auto frame = Frame::open_sparse(MemorySource(std::span(good).first(n)), {});
      REQUIRE_FALSE(frame);
      REQUIRE(frame.error().kind == (n < 10 ? Errc::bad_field : Errc::truncated));
    }
  }
}

TEST_CASE("sparse frame: an index file cut with its length adjusted is refused",
          "[codec][sparse][corrupt]") {
  const Bytes good = build_sparse_frame(sample_spec()).index_file;
  for (std::size_t n = kMinFrameBytes; n < good.size(); ++n) {
    CAPTURE(n);
    Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
    put_be(cut, 16, static_cast<std::uint64_t>(n));
    REQUIRE(open_outcome(cut) != "ok");
  }
}

TEST_CASE("sparse frame: an id beyond 32 bits is refused", "[codec][sparse][corrupt]") {
  const auto built = build_sparse_frame(sample_spec());
  const MemoryChunks chunks(built.chunks);
  const auto frame = Frame::open_sparse(MemorySource(built.index_file), {}).value();
  for (const std::int64_t entry : {std::int64_t{1} << 32, (std::int64_t{1} << 32) + 1,
                                   std::int64_t{1} << 33, std::int64_t{1} << 62, kInt64Max}) {
    CAPTURE(entry);
    CHECK(outcome(frame.open_chunk(chunks, {1}, entry, {})) == "bad field: index entry at 8");
    CHECK(outcome(frame.read_chunk_nbytes(chunks, {1}, entry)) == "bad field: index entry at 8");
  }
  // The largest possible file number; the file does not exist.
  CHECK(outcome(frame.open_chunk(chunks, {1}, 0xffffffff, {})) == "bad field: chunk file at 0");
}

TEST_CASE("sparse frame: a special entry where chunks vary in size is refused",
          "[codec][sparse][corrupt]") {
  FrameSpec spec;
  spec.chunks = {stored_chunk(noise(100, 1), {}), stored_chunk(noise(40, 1), {})};
  const auto built = build_sparse_frame(spec);
  const auto frame = Frame::open_sparse(MemorySource(built.index_file), {}).value();
  CHECK(outcome(frame.open_chunk(MemoryChunks(built.chunks), {1},
                                 test::special_index_entry(SpecialKind::zero), {})) ==
        "bad field: special index entry in a frame of varying chunks at 8");
}

// Oracle: `chunk` is the first damaged chunk of the frame; the others are intact.
void check_spoilt(const BuiltSparseFrame& built, std::size_t chunk, const std::string& expected) {
  const MemorySource source(built.index_file);
  const MemoryChunks chunks(built.chunks);
  const auto frame = Frame::open_sparse(source, {}).value();
  FrameReader reader(source, chunks, frame, {});
  const Bytes whole = sample_data();
  for (std::size_t i = 0; i < 4; ++i) {
    const auto range = frame.chunk_range({i});
    Bytes out(range.size);
    CAPTURE(i);
    const auto read = reader.read(range.offset, out);
    CHECK(outcome(read) == (i == chunk ? expected : "ok"));
    if (i == chunk) continue;
    CHECK(std::ranges::equal(out, std::span(whole).subspan(range.offset, range.size)));
  }
}

TEST_CASE("sparse frame: a missing chunk file spoils its own range", "[codec][sparse][corrupt]") {
  auto built = build_sparse_frame(sample_spec());
  built.chunks.erase(1);
  check_spoilt(built, 1, "bad field: chunk file at 0");
}

TEST_CASE("sparse frame: an empty chunk file spoils its own range", "[codec][sparse][corrupt]") {
  auto built = build_sparse_frame(sample_spec());
  built.chunks[1].clear();
  check_spoilt(built, 1, "truncated: version at 0");
}

// Bytes of the next file, or any other bytes, must not replace missing ones.
TEST_CASE("sparse frame: a chunk file of any shorter length spoils its own range",
          "[codec][sparse][corrupt]") {
  for (const auto codec : {test::Codec::lz4, test::Codec::memcpy}) {
    auto spec = sample_spec();
    ChunkSpec chunk;
    chunk.codec = codec;
    spec.chunks[1] = stored_chunk(noise(1000, 5), chunk);
    const auto good = build_sparse_frame(spec);
    const MemorySource source(good.index_file);
    const auto frame = Frame::open_sparse(source, {}).value();
    for (std::size_t n = 0; n < good.chunks.at(1).size(); ++n) {
      auto built = good;
      built.chunks[1].resize(n);
      const MemoryChunks chunks(built.chunks);
      FrameReader reader(source, chunks, frame, {});
      Bytes out(1000);
      const auto read = reader.read(1000, out);
      CAPTURE(n);
      REQUIRE_FALSE(read);
      REQUIRE(read.error().kind == Errc::truncated);
      REQUIRE(read.error().at <= 32);  // from the start of the file
      REQUIRE(reader.read(0, out).has_value());
    }
  }
}

TEST_CASE("sparse frame: a chunk of another size than the frame's spoils its own range",
          "[codec][sparse][corrupt]") {
  for (const std::size_t nbytes : {0U, 4U, 996U, 1004U}) {
    CAPTURE(nbytes);
    auto built = build_sparse_frame(sample_spec());
    built.chunks[1] = test::build_chunk(noise(nbytes, 1), {});
    check_spoilt(built, 1, "bad field: nbytes of the chunk at 4");
  }
}

TEST_CASE("sparse frame: a damaged chunk is placed from the start of its file",
          "[codec][sparse][corrupt]") {
  const std::vector<std::uint32_t> ids = {0, 0xfffffff0, 2};
  auto built = build_sparse_frame(sample_spec(), ids);
  put_le<std::int32_t>(built.chunks[ids[1]], 12, -1);  // cbytes
  check_spoilt(built, 1, "bad field: cbytes at 12");
  built = build_sparse_frame(sample_spec(), ids);
  put_le<std::int32_t>(built.chunks[ids[1]], 12, std::numeric_limits<std::int32_t>::max());
  check_spoilt(built, 1, "truncated: cbytes at 12");
}

// The first chunk claims one byte more than its file has; the next file follows in the addresses.
TEST_CASE("sparse frame: a chunk does not go on in the next file", "[codec][sparse][corrupt]") {
  auto built = build_sparse_frame(sample_spec());
  const auto size = static_cast<std::int32_t>(built.chunks[0].size());
  put_le<std::int32_t>(built.chunks[0], 12, size + 1);
  check_spoilt(built, 0, "truncated: cbytes at 12");
}

TEST_CASE("sparse frame: a read of a chunk file that fails is passed on",
          "[codec][sparse][corrupt]") {
  const auto built = build_sparse_frame(sample_spec());
  const MemorySource source(built.index_file);
  const MemoryChunks files(built.chunks);
  for (int step = 1;; ++step) {
    CAPTURE(step);
    const test::FailingSource chunks(files, step);
    const auto got = read_all(source, chunks);
    if (!chunks.has_failed()) {
      CHECK(got.has_value());
      CHECK(step > 3);
      break;
    }
    REQUIRE_FALSE(got);
    CHECK(got.error().kind == Errc::system);
    CHECK(got.error().sys == EIO);
  }
}

// Oracle: see frame_misbehaviour().
TEST_CASE("sparse frame: no flipped bit of the index file makes it misbehave",
          "[codec][sparse][corrupt]") {
  for (const auto form : {IndexForm::memcpyed, IndexForm::blosclz, IndexForm::zstd}) {
    CAPTURE(static_cast<int>(form));
    const auto built = build_sparse_frame(sample_spec(form));
    const MemoryChunks chunks(built.chunks);
    const auto probe = [&](std::span<const std::byte> index_file) {
      return test::sparse_misbehaviour(index_file, chunks);
    };
    REQUIRE(probe(built.index_file) == "");
    CHECK(test::first_bad_flip(built.index_file, 0, built.index_file.size(), probe) == "");
  }
}

TEST_CASE("sparse frame: no flipped bit of a chunk file makes it misbehave",
          "[codec][sparse][corrupt]") {
  const auto built = build_sparse_frame(sample_spec());
  const Bytes& good = built.chunks.at(1);
  const auto probe = [&](std::span<const std::byte> chunk) {
    auto chunks = built.chunks;
    chunks[1] = Bytes(chunk.begin(), chunk.end());
    return test::sparse_misbehaviour(built.index_file, MemoryChunks(std::move(chunks)));
  };
  CHECK(test::first_bad_flip(good, 0, good.size(), probe) == "");
}

}  // namespace
}  // namespace framefs::codec::sparse_frame_test

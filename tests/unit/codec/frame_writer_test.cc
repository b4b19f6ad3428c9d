#include "codec/frame/frame_writer.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/metalayer_content.h"
#include "tests/support/catch.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/frame_builder.h"
#include "tests/support/outcome.h"
#include "tests/support/plain_kinds.h"
#include "tests/support/sink_doubles.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::frame_writer_test {
namespace {

using test::Bytes;
using test::draw;
using test::MemorySink;
using test::outcome;
using test::PlainKind;

// Appends `plain` in chunks.
Status append_all(FrameWriter& writer, const FrameParams& params, const Bytes& plain) {
  ChunkEncoder encoder;
  Bytes chunk(ChunkPlan::max_bytes(params.chunksize));
  for (std::size_t begin = 0; begin < plain.size(); begin += params.chunksize) {
    const auto piece = std::span(plain).subspan(
        begin, std::min<std::size_t>(params.chunksize, plain.size() - begin));
    FRAMEFS_TRY(const auto size, encoder.encode(params.encode, piece, chunk));
    if (size == 0) {
      FRAMEFS_CHECK(writer.append_special(Special::zero, static_cast<std::uint32_t>(piece.size())));
    } else {
      FRAMEFS_CHECK(writer.append_chunk(std::span(chunk).first(size)));
    }
  }
  return {};
}

Result<std::uint64_t> write_frame(ByteSink& sink, const FrameParams& params, const Bytes& plain) {
  FRAMEFS_TRY(auto writer, FrameWriter::create(sink, params));
  FRAMEFS_CHECK(append_all(writer, params, plain));
  return writer.finish();
}

Bytes written(const FrameParams& params, const Bytes& plain) {
  MemorySink sink;
  const auto length = write_frame(sink, params, plain);
  INFO(outcome(length));
  REQUIRE(length);
  REQUIRE(*length == sink.bytes().size());
  REQUIRE(sink.is_synced());
  return sink.bytes();
}

Bytes read_back(const Bytes& bytes, std::mt19937& random) {
  const MemorySource source(bytes);
  const auto frame = Frame::open(source, Limits{});
  INFO(outcome(frame));
  REQUIRE(frame);
  Bytes out(frame->nbytes());
  FrameReader reader(source, *frame, Limits{});
  REQUIRE(outcome(reader.read(0, out)) == "ok");
  REQUIRE(test::subranges_agree(source, source, *frame, Limits{}, out, random, 3));
  return out;
}

FrameParams small_params(CodecId codec = CodecId::lz4) {
  FrameParams params{.encode = {.codec = codec, .clevel = 5, .typesize = 4}, .chunksize = 4000};
  params.encode.filters[5].id = 1;
  return params;
}

TEST_CASE("frame_writer: frames of any shape are read back", "[codec][frame_writer][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  constexpr CodecId kCodecs[] = {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib,
                                 CodecId::zstd};
  for (int round = 0; round < 300; ++round) {
    FrameParams params;
    params.encode.codec = kCodecs[draw(random) % 5];
    params.encode.clevel = static_cast<int>(draw(random) % 8);
    params.encode.typesize = draw(random) % 8 == 0 ? 300 : 1 + draw(random) % 16;
    params.encode.filters[5].id = static_cast<std::uint8_t>(draw(random) % 3);
    params.chunksize = 1 + draw(random) % 20000;
    for (std::uint32_t i = draw(random) % 3; i > 0; --i) {
      params.metalayers.push_back({"m" + std::to_string(i), test::noise(draw(random) % 50, i)});
      params.vlmetalayers.push_back({"v" + std::to_string(i), Bytes(draw(random) % 5000)});
    }
    const auto kind = test::kPlainKinds[draw(random) % 7];
    const auto plain = test::plain_bytes(kind, draw(random) % 60000, params.encode.typesize, 7);
    CAPTURE(round, params.chunksize, plain.size(), test::plain_kind_name(kind));
    REQUIRE(read_back(written(params, plain), random) == plain);
  }
}

// Oracle: the frame builder of tests/support, which shares no code with the writer.
TEST_CASE("frame_writer: header, metalayers and trailer are byte for byte those of the format",
          "[codec][frame_writer][unit]") {
  auto params = small_params();
  params.metalayers = {{"one", test::text_bytes("content")}, {"second", Bytes{}}};
  const auto plain = test::ramp(10000, 4);
  const auto frame = written(params, plain);

  test::FrameSpec spec;
  spec.chunksize = params.chunksize;
  spec.blocksize = blocksize_for(params.encode, params.chunksize);
  spec.filters = {test::Filter::shuffle};
  spec.metalayers = {{"one", test::text_bytes("content")}, {"second", Bytes{}}};
  const auto trailer = test::build_trailer({});
  const MemorySource source(frame);
  const auto opened = Frame::open(source, Limits{});
  REQUIRE(opened);
  const auto header = test::build_frame_header(
      spec,
      {.nbytes = plain.size(), .cbytes = opened->header().cbytes, .frame_bytes = frame.size()});
  REQUIRE(frame.size() > header.size() + trailer.size());
  CHECK_FALSE(first_difference(std::span(frame).first(header.size()), header));
  CHECK_FALSE(first_difference(std::span(frame).last(trailer.size()), trailer));
}

TEST_CASE("frame_writer: the smallest frame is the one of the format's description",
          "[codec][frame_writer][unit]") {
  FrameParams params{.encode = {.codec = CodecId::blosclz, .clevel = 5, .typesize = 8},
                     .chunksize = 32};
  params.encode.filters[5].id = 1;
  const auto frame = written(params, test::counting(32));
  REQUIRE(frame.size() == 236);
  // Compares chunk, index and trailer except the chunk's flags, which differ in bits that have no
  // meaning for a plain chunk.
  CHECK(std::ranges::equal(std::span(frame).subspan(129, 32), test::counting(32)));
  CHECK(std::ranges::equal(
      std::span(frame).subspan(201),
      bytes_of({0x94, 1, 0x93, 0xcd, 0, 6, 0xde, 0, 0, 0xdc, 0, 0, 0xce, 0, 0, 0, 0x23, 0xd8,
                0,    0, 0,    0,    0, 0, 0,    0, 0, 0,    0, 0, 0,    0, 0, 0, 0})));
}

TEST_CASE("frame_writer: a frame without chunks is header and trailer",
          "[codec][frame_writer][unit]") {
  std::mt19937 random(1);
  auto params = small_params();
  params.vlmetalayers = {{"note", test::text_bytes("empty but for this")}};
  const auto frame = written(params, Bytes{});
  CHECK(read_back(frame, random).empty());
  const MemorySource source(frame);
  const auto opened = Frame::open(source, Limits{});
  REQUIRE(opened);
  REQUIRE(opened->vlmetalayers().size() == 1);
  CHECK(read_vlmetalayer(source, opened->vlmetalayers()[0], Limits{}).value() ==
        test::text_bytes("empty but for this"));
}

TEST_CASE("frame_writer: an empty frame has the same bytes in one piece and in several",
          "[codec][frame_writer][unit]") {
  auto params = small_params();
  CHECK(encode_empty_frame(params).value() == written(params, Bytes{}));
  params.metalayers = {{"meta", test::text_bytes("fixed")}};
  params.vlmetalayers = {{"note", test::text_bytes("varying")}};
  CHECK(encode_empty_frame(params).value() == written(params, Bytes{}));
  params.chunksize = 0;
  CHECK(encode_empty_frame(params).error().kind == Errc::bad_field);
}

TEST_CASE("frame_writer: metalayers are read back whatever they hold",
          "[codec][frame_writer][unit]") {
  auto params = small_params();
  const std::vector<NamedContent> contents = {{"a", Bytes{}},
                                              {"zeros", Bytes(1000)},
                                              {"sevens", Bytes(1000, std::byte{7})},
                                              {std::string(31, 'n'), test::noise(40000, 1)},
                                              {"text", test::sample_text(3000, 1)}};
  params.metalayers = contents;
  params.vlmetalayers = contents;
  const auto frame = written(params, test::ramp(9000, 4));
  const MemorySource source(frame);
  const auto opened = Frame::open(source, Limits{});
  REQUIRE(opened);
  REQUIRE(opened->metalayers().size() == contents.size());
  REQUIRE(opened->vlmetalayers().size() == contents.size());
  for (std::size_t i = 0; i < contents.size(); ++i) {
    CHECK(opened->metalayers()[i].name == contents[i].name);
    CHECK(opened->vlmetalayers()[i].name == contents[i].name);
    CHECK(read_metalayer(source, opened->metalayers()[i]).value() == contents[i].content);
    CHECK(read_vlmetalayer(source, opened->vlmetalayers()[i], Limits{}).value() ==
          contents[i].content);
  }
}

TEST_CASE("frame_writer: chunks of zeros, NaNs and uninitialised bytes are in the index alone",
          "[codec][frame_writer][unit]") {
  const auto params = small_params();
  MemorySink sink;
  auto writer = FrameWriter::create(sink, params);
  REQUIRE(writer);
  REQUIRE(outcome(writer->append_special(Special::zero, 4000)) == "ok");
  REQUIRE(outcome(writer->append_special(Special::nan, 4000)) == "ok");
  REQUIRE(outcome(writer->append_special(Special::uninit, 40)) == "ok");
  CHECK(writer->cbytes() == 0);
  REQUIRE(writer->finish());
  const MemorySource source(sink.bytes());
  const auto frame = Frame::open(source, Limits{});
  REQUIRE(frame);
  std::int64_t entries[3] = {};
  REQUIRE(outcome(frame->read_entries(source, {0}, entries)) == "ok");
  CHECK(entries[0] == test::special_index_entry(test::SpecialKind::zero));
  CHECK(entries[1] == test::special_index_entry(test::SpecialKind::nan));
  CHECK(entries[2] == test::special_index_entry(test::SpecialKind::uninit));
}

TEST_CASE("frame_writer: an index of equal entries takes forty bytes",
          "[codec][frame_writer][unit]") {
  const std::vector<std::int64_t> zeros(1000, index_code(Special::zero));
  CHECK(encode_index(zeros).value().size() == 40);
}

TEST_CASE("frame_writer: a chunk that readers would refuse is refused, and the frame continues",
          "[codec][frame_writer][corrupt]") {
  const auto params = small_params();
  MemorySink sink;
  auto writer = FrameWriter::create(sink, params);
  REQUIRE(writer);
  const auto good = test::build_chunk(test::ramp(4000, 4), {});
  auto cut = good;
  cut.pop_back();
  CHECK(outcome(writer->append_chunk(cut)) == "truncated: cbytes at 12");
  auto longer = good;
  longer.push_back({});
  CHECK(outcome(writer->append_chunk(longer)) == "bad field: chunk of a frame at 0");
  const auto large = test::build_chunk(test::ramp(4004, 4), {});
  CHECK(outcome(writer->append_chunk(large)) == "bad field: nbytes of a chunk at 4");
  test::ChunkSpec short_header;
  short_header.blosc1_header = true;
  const auto blosc1 = test::build_chunk(test::ramp(4000, 4), short_header);
  CHECK(outcome(writer->append_chunk(blosc1)) == "bad field: chunk of a frame at 0");
  const auto zero = test::build_special_chunk(test::SpecialKind::zero, 4000, 4);
  CHECK(outcome(writer->append_chunk(zero)) == "bad field: chunk of a frame at 0");
  const auto wide = test::build_special_chunk(test::SpecialKind::value, 4000, 4, test::counting(8));
  CHECK(outcome(writer->append_chunk(wide)) == "bad field: chunk of a frame at 0");
  CHECK(outcome(writer->append_special(Special::value, 4000)) == "bad field: special chunk at 0");
  CHECK(outcome(writer->append_special(Special::zero, 0)) == "bad field: nbytes of a chunk at 4");
  CHECK(outcome(writer->append_special(Special::zero, 3999)) ==
        "bad field: nbytes of a special chunk at 4");

  CHECK(outcome(writer->append_chunk(good)) == "ok");
  CHECK(outcome(writer->append_special(Special::zero, 8)) == "ok");
  CHECK(outcome(writer->append_chunk(good)) == "bad field: chunk after a shorter one at 4008");
  CHECK(outcome(writer->finish()) == "ok");
  CHECK(outcome(writer->append_chunk(good)) == "BUG: frame writer at 0");
  CHECK(outcome(writer->finish()) == "BUG: frame writer at 0");
  std::mt19937 random(1);
  auto expected = test::ramp(4000, 4);
  expected.resize(4008);
  CHECK(read_back(sink.bytes(), random) == expected);
}

TEST_CASE("frame_writer: parameters that cannot be are refused", "[codec][frame_writer][corrupt]") {
  const auto created = [](auto change) {
    auto params = small_params();
    change(params);
    MemorySink sink;
    return outcome(FrameWriter::create(sink, params));
  };
  const auto named = [](std::string name) { return NamedContent{std::move(name), Bytes(5)}; };
  CHECK(created([](FrameParams& p) { p.chunksize = 0; }) == "bad field: chunksize at 58");
  CHECK(created([](FrameParams& p) { p.chunksize = 2147483616; }) == "bad field: chunksize at 58");
  CHECK(created([](FrameParams& p) { p.encode.typesize = 0; }) == "bad field: typesize at 0");
  CHECK(created([&](FrameParams& p) { p.metalayers = {named("")}; }) ==
        "bad field: metalayer name at 87");
  CHECK(created([&](FrameParams& p) { p.metalayers = {named(std::string(32, 'x'))}; }) ==
        "bad field: metalayer name at 87");
  CHECK(created([&](FrameParams& p) { p.vlmetalayers = {named("x"), named("x")}; }) ==
        "bad field: metalayer name at 2");
  CHECK(created([&](FrameParams& p) {
          for (int i = 0; i < 17; ++i) p.metalayers.push_back(named(std::to_string(i)));
        }) == "over limit: metalayer count at 87");
  CHECK(created([&](FrameParams& p) {
          for (int i = 0; i < 3000; ++i) {
            p.vlmetalayers.push_back(named("a metalayer's name" + std::to_string(i)));
          }
        }) == "over limit: metalayers at 2");
}

TEST_CASE("frame_writer: a failure at any call is reported and ends the writer",
          "[codec][frame_writer][unit]") {
  const auto params = small_params();
  const auto plain = test::ramp(10000, 4);
  int failing = 1;
  for (;; ++failing) {
    MemorySink sink(failing);
    const auto length = write_frame(sink, params, plain);
    if (!sink.has_failed()) {
      CHECK(length);
      break;
    }
    CAPTURE(failing);
    REQUIRE_FALSE(length);
    CHECK(length.error().kind == Errc::system);
  }
  CHECK(failing > 7);  // three chunks, index, trailer, header, truncate, sync
}

TEST_CASE("frame_writer: a sparse frame has its chunks in files of their own",
          "[codec][frame_writer][unit]") {
  const auto params = small_params();
  auto plain = test::ramp(20000, 4);
  std::fill(plain.begin() + 4000, plain.begin() + 8000, std::byte{0});
  MemorySink sink;
  test::MemoryChunkFiles files;
  auto writer = FrameWriter::create_sparse(sink, files, params);
  REQUIRE(writer);
  REQUIRE(outcome(append_all(*writer, params, plain)) == "ok");
  const auto length = writer->finish();
  REQUIRE(length);
  REQUIRE(*length == sink.bytes().size());

  const auto header = parse_frame_header(sink.bytes());
  REQUIRE(header);
  CHECK(header->type == FrameType::sparse);
  CHECK(header->frame_len == *length);
  CHECK(header->nbytes == plain.size());
  REQUIRE(files.files().size() == 4);  // the zeros have no file and no number
  CHECK(files.files().rbegin()->first == 3);

  // The index follows the header directly, then comes the trailer.
  const MemorySource source(sink.bytes());
  const auto index = Chunk::open(source, header->header_len, *length - header->header_len,
                                 {.schunk_typesize = 8}, {});
  REQUIRE(index);
  const auto entries = test::decode_whole(source, *index);
  REQUIRE(entries);
  Bytes expected;
  for (const std::int64_t entry :
       {std::int64_t{0}, test::special_index_entry(test::SpecialKind::zero), std::int64_t{1},
        std::int64_t{2}, std::int64_t{3}}) {
    test::append_le(expected, entry);
  }
  CHECK(*entries == expected);
  const auto trailer = test::build_trailer({});
  CHECK(header->header_len + index->header().cbytes + trailer.size() == *length);

  std::uint64_t stored = 0;
  Bytes all;
  for (const auto& [id, bytes] : files.files()) {
    const MemorySource file(bytes);
    const auto chunk = Chunk::open(file, 0, bytes.size(), {.schunk_typesize = 4}, {});
    REQUIRE(chunk);
    test::append(all, test::decode_whole(file, *chunk).value());
    if (id == 0) all.resize(all.size() + 4000);
    stored += bytes.size();
  }
  CHECK(all == plain);
  CHECK(header->cbytes == stored);
}

TEST_CASE("frame_header: a patch changes the sizes and nothing else",
          "[codec][frame_header][unit]") {
  auto params = small_params();
  auto frame = written(params, test::ramp(9000, 4));
  const auto before = frame;
  patch_frame_header({.frame_len = 1000, .nbytes = 2000, .cbytes = 300, .has_vlmetalayers = true},
                     std::span(frame).first<kFrameFixedHeaderBytes>());
  const auto header = parse_frame_header(frame);
  REQUIRE(header);
  CHECK(header->frame_len == 1000);
  CHECK(header->nbytes == 2000);
  CHECK(header->cbytes == 300);
  for (std::size_t at = 0; at < frame.size(); ++at) {
    const bool is_size =
        (at >= 16 && at < 24) || (at >= 30 && at < 38) || (at >= 39 && at < 47) || at == 68;
    if (!is_size && frame[at] != before[at]) FAIL("byte " << at);
  }
}

}  // namespace
}  // namespace framefs::codec::frame_writer_test

#include "codec/chunk/chunk_encoder.h"

#include <algorithm>
#include <random>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/filter/filter_ids.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_walk.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/forward_filters.h"
#include "tests/support/outcome.h"
#include "tests/support/plain_kinds.h"
#include "tests/support/threads.h"

namespace framefs::codec::chunk_encoder_test {
namespace {

using test::Bytes;
using test::draw;
using test::outcome;
using test::PlainKind;

constexpr CodecId kCodecs[] = {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib,
                               CodecId::zstd};
const std::vector<std::vector<std::uint8_t>> kPipelines = {{}, {1}, {2}, {1, 35}, {2, 1}};
constexpr std::uint8_t kFlagMemcpyed = 0x02;

FilterSlots slots_of(const std::vector<std::uint8_t>& ids) {
  FilterSlots slots{};
  for (std::size_t i = 0; i < ids.size(); ++i) slots[slots.size() - ids.size() + i].id = ids[i];
  return slots;
}

Bytes encoded(ChunkEncoder& encoder, const EncodeParams& params, const Bytes& plain) {
  Bytes out(ChunkPlan::max_bytes(plain.size()));
  const auto size = encoder.encode(params, plain, out);
  INFO(outcome(size));
  REQUIRE(size);
  REQUIRE(*size <= out.size());
  out.resize(*size);
  return out;
}

Bytes encoded(const EncodeParams& params, const Bytes& plain) {
  ChunkEncoder encoder;
  return encoded(encoder, params, plain);
}

// Encodes as a caller with many threads does: blocks in any order, each with its own encoder.
Bytes encoded_by_blocks(const EncodeParams& params, const Bytes& plain) {
  const auto plan = ChunkPlan::make(params, plain);
  REQUIRE(plan);
  std::vector<Bytes> blocks;
  if (plan->outcome() == ChunkOutcome::blocks) blocks.resize(plan->block_count());
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const auto range = plan->block_range({i});
    blocks[i].resize(plan->max_block_bytes({i}));
    BlockEncoder encoder;
    const auto size =
        encoder.encode(*plan, {i}, std::span(plain).subspan(range.offset, range.size), blocks[i]);
    REQUIRE(size);
    blocks[i].resize(*size);
  }
  const std::vector<std::span<const std::byte>> spans(blocks.begin(), blocks.end());
  Bytes out(ChunkPlan::max_bytes(plain.size()));
  out.resize(plan->assemble(plain, spans, out));
  return out;
}

void check_decodes(const Bytes& chunk_bytes, std::uint32_t typesize, const Bytes& plain,
                   std::mt19937& random) {
  const MemorySource source(chunk_bytes);
  const auto chunk =
      Chunk::open(source, 0, chunk_bytes.size(), {.schunk_typesize = typesize}, Limits{});
  INFO(outcome(chunk));
  REQUIRE(chunk);
  REQUIRE(chunk->header().cbytes == chunk_bytes.size());
  const auto whole = test::decode_whole(source, *chunk);
  INFO(outcome(whole));
  REQUIRE(whole);
  REQUIRE(*whole == plain);
  REQUIRE(test::decode_by_blocks(source, *chunk).value() == plain);
  REQUIRE(test::subranges_agree(source, *chunk, plain, random, 3));
}

// Oracle: test::walk_chunk(), which uses the codecs' own libraries, and the tests' forward filters.
// Plain and special chunks are not checked.
void check_walk(const Bytes& chunk, const EncodeParams& params,
                const std::vector<std::uint8_t>& filters, const Bytes& plain) {
  if ((chunk[2] & std::byte{kFlagMemcpyed}) != std::byte{0} || chunk[31] > std::byte{1}) return;
  const auto walked = test::walk_chunk(chunk);
  REQUIRE(walked);
  REQUIRE(walked->nbytes == plain.size());
  const auto stored = parse_chunk_header(chunk, chunk.size()).value().filters;
  const auto is_stored = [&](std::uint8_t id) {
    return id != filter_id::kBytedelta || std::ranges::find(stored, id, &FilterSlot::id) != stored.end();
  };
  std::size_t begin = 0;
  for (const auto& block : walked->filtered_blocks) {
    Bytes expected(plain.begin() + static_cast<std::ptrdiff_t>(begin),
                   plain.begin() + static_cast<std::ptrdiff_t>(begin + block.size()));
    for (const auto id : filters) {
      if (!is_stored(id)) continue;
      expected = test::filter_forward(static_cast<test::Filter>(id), expected, params.typesize, {});
    }
    REQUIRE(block == expected);
    begin += block.size();
  }
}

TEST_CASE("chunk_encoder: whatever is asked for is read back by every reader",
          "[codec][chunk_encoder][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  ChunkEncoder encoder;
  const std::uint32_t typesizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 17, 40, 255};
  const std::uint32_t sizes[] = {0, 1, 31, 32, 33, 63, 64, 200, 1000, 4096, 30000, 70000};
  for (int round = 0; round < 1500; ++round) {
    EncodeParams params{.codec = kCodecs[draw(random) % 5],
                        .clevel = static_cast<int>(draw(random) % 10),
                        .typesize = typesizes[draw(random) % 11]};
    const auto& filters = kPipelines[draw(random) % kPipelines.size()];
    params.filters = slots_of(filters);
    if (draw(random) % 3 != 0) params.blocksize = 1 + draw(random) % 9000;
    params.split = static_cast<SplitMode>(1 + draw(random) % 4);
    params.use_dict = draw(random) % 4 == 0;
    params.omit_zero_chunks = draw(random) % 2 == 0;
    if (params.clevel > 7) params.clevel = 8;  // the highest level of zstd is slow
    const auto kind = test::kPlainKinds[draw(random) % 7];
    const auto nbytes = sizes[draw(random) % 12] + draw(random) % 3;
    CAPTURE(round, codec_name(params.codec), params.clevel, params.typesize, filters,
            params.blocksize, nbytes, test::plain_kind_name(kind));

    const auto plain = test::plain_bytes(kind, nbytes, params.typesize, draw(random));
    const auto chunk = encoded(encoder, params, plain);
    REQUIRE(chunk == encoded_by_blocks(params, plain));
    if (chunk.empty()) {
      REQUIRE(params.omit_zero_chunks);
      REQUIRE(plain == Bytes(nbytes));
      REQUIRE(nbytes % params.typesize == 0);
      continue;
    }
    check_walk(chunk, params, filters, plain);
    check_decodes(chunk, params.typesize, plain, random);
  }
}

TEST_CASE("chunk_encoder: sizes around whole blocks are read back",
          "[codec][chunk_encoder][unit]") {
  std::mt19937 random(1);
  for (const auto codec : kCodecs) {
    for (const std::uint32_t typesize : {1U, 4U, 8U}) {
      EncodeParams params{
          .codec = codec, .clevel = 5, .typesize = typesize, .filters = slots_of({1})};
      params.blocksize = 512;
      for (const std::size_t blocks : {1U, 2U, 5U}) {
        for (const std::ptrdiff_t off : {-9, -8, -1, 0, 1, 8, 9}) {
          const auto nbytes =
              static_cast<std::size_t>(static_cast<std::ptrdiff_t>(512 * blocks) + off);
          CAPTURE(codec_name(codec), typesize, nbytes);
          const auto plain = test::ramp(nbytes, typesize);
          const auto chunk = encoded(params, plain);
          check_walk(chunk, params, {1}, plain);
          check_decodes(chunk, typesize, plain, random);
        }
      }
    }
  }
}

TEST_CASE("chunk_encoder: the header is one that every release since 2.0.3 reads",
          "[codec][chunk_encoder][unit]") {
  const auto plain = test::ramp(100000, 8);
  EncodeParams params{
      .codec = CodecId::lz4hc, .clevel = 5, .typesize = 8, .filters = slots_of({1})};
  const auto chunk = encoded(params, plain);
  CHECK(chunk[0] == std::byte{5});
  CHECK(chunk[1] == std::byte{1});
  CHECK(chunk[2] == std::byte{0x35});  // extended form, never split, lz4
  CHECK(chunk[3] == std::byte{8});
  CHECK(chunk[21] == std::byte{1});
  CHECK(chunk[22] == std::byte{2});  // lz4hc's number
  CHECK(chunk[30] == std::byte{0});
  CHECK(chunk[31] == std::byte{0});
  params.codec = CodecId::lz4;
  CHECK(encoded(params, plain)[2] == std::byte{0x25});  // split
  params.typesize = 300;
  CHECK(encoded(params, plain)[3] == std::byte{1});
}

// Releases before 3.3.2 lose the bytes behind the streams of bytedelta.  Source: codec/ERRATA.md.
TEST_CASE("chunk_encoder: bytedelta is used only if its streams fill every block",
          "[codec][chunk_encoder][unit]") {
  struct Row {
    std::uint32_t nbytes;
    std::uint32_t blocksize;
    std::uint8_t meta;
    bool is_used;
  };
  for (const auto& [nbytes, blocksize, meta, is_used] :
       {Row{80000, 8000, 0, true}, Row{80003, 8000, 0, false}, Row{84000, 8000, 0, true},
        Row{80008, 80008, 0, true}, Row{80000, 8000, 5, true}, Row{80008, 8000, 5, false}}) {
    CAPTURE(nbytes, blocksize, static_cast<int>(meta));
    EncodeParams params{.codec = CodecId::zstd,
                        .typesize = 8,
                        .filters = slots_of({1, 35}),
                        .blocksize = blocksize};
    params.filters.back().meta = meta;
    const auto plain = test::ramp(nbytes, 8);
    const auto chunk = encoded(params, plain);
    const auto header = parse_chunk_header(chunk, chunk.size());
    REQUIRE(header);
    CHECK(header->filters[4].id == 1);
    CHECK((header->filters[5].id == 35) == is_used);
    std::mt19937 random(nbytes);
    check_decodes(chunk, params.typesize, plain, random);
  }
}

TEST_CASE("chunk_encoder: zeros are not stored when they may vanish",
          "[codec][chunk_encoder][unit]") {
  EncodeParams params{.typesize = 4};
  CHECK(encoded(params, Bytes(4)).empty());
  CHECK(encoded(params, Bytes(100000)).empty());
  // The reference library may not find the end of the last item.
  CHECK_FALSE(encoded(params, Bytes(100001)).empty());
  params.omit_zero_chunks = false;
  const auto stored = encoded(params, Bytes(100000));
  CHECK(stored.size() == 36);
  CHECK(stored[31] == std::byte{0x30});
  std::mt19937 random(1);
  check_decodes(stored, 4, Bytes(100000), random);
}

TEST_CASE("chunk_encoder: a repeated item becomes a rule with the frame's typesize",
          "[codec][chunk_encoder][unit]") {
  std::mt19937 random(1);
  for (const std::uint32_t typesize : {1U, 3U, 8U, 300U}) {
    const EncodeParams params{.typesize = typesize};
    const auto plain =
        test::plain_bytes(PlainKind::one_item, 20 * typesize + 60 * typesize, typesize, 9);
    const auto chunk = encoded(params, plain);
    CHECK(chunk.size() == 32 + typesize);
    CHECK(chunk[31] == std::byte{0x30});
    check_decodes(chunk, typesize, plain, random);
  }
  // A single item, or a partial item at the end, is not a repetition.
  const EncodeParams params{.typesize = 64};
  CHECK(encoded(params, test::noise(64, 1))[31] == std::byte{0});
  CHECK(encoded(params, test::plain_bytes(PlainKind::one_item, 1000, 64, 9))[31] == std::byte{0});
}

TEST_CASE("chunk_encoder: data that do not get shorter are stored uncompressed",
          "[codec][chunk_encoder][unit]") {
  for (const auto codec : kCodecs) {
    for (const bool use_dict : {false, true}) {
      EncodeParams params{.codec = codec,
                          .clevel = 5,
                          .typesize = 4,
                          .filters = slots_of({2}),
                          .use_dict = use_dict};
      for (const std::size_t nbytes : {32U, 1000U, 300000U}) {
        CAPTURE(codec_name(codec), nbytes, use_dict);
        const auto plain = test::noise(nbytes, 2);
        const auto chunk = encoded(params, plain);
        CHECK(chunk.size() == nbytes + 32);
        CHECK((chunk[2] & std::byte{kFlagMemcpyed}) != std::byte{0});
        CHECK(chunk[31] == std::byte{0});
        CHECK(std::ranges::equal(std::span(chunk).subspan(32), plain));
      }
    }
  }
}

TEST_CASE("chunk_encoder: level 0, fewer than 32 bytes and tiny blocks are stored as they are",
          "[codec][chunk_encoder][unit]") {
  const auto is_plain = [](const EncodeParams& params, const Bytes& plain) {
    const auto chunk = encoded(params, plain);
    return chunk.size() == plain.size() + 32 &&
           (chunk[2] & std::byte{kFlagMemcpyed}) != std::byte{0};
  };
  CHECK(is_plain({.clevel = 0}, test::ramp(5000, 1)));
  CHECK(is_plain({.clevel = 5}, test::text_bytes("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
  CHECK(is_plain({.clevel = 5}, Bytes{}));
  CHECK(is_plain({.clevel = 5, .blocksize = 4}, test::ramp(5000, 1)));
}

TEST_CASE("chunk_encoder: a dictionary is trained, stored and never split",
          "[codec][chunk_encoder][unit]") {
  std::mt19937 random(1);
  const auto plain = test::sample_text(800000, 5);
  EncodeParams params{.codec = CodecId::zstd,
                      .clevel = 5,
                      .typesize = 4,
                      .filters = {},
                      .blocksize = 1024,
                      .split = SplitMode::always,
                      .use_dict = true};
  const auto chunk = encoded(params, plain);
  const auto walked = test::walk_chunk(chunk);
  REQUIRE(walked);
  CHECK(walked->dictionary.size() >= 256);
  CHECK(walked->dictionary.size() <= plain.size() / 20);
  CHECK((chunk[2] & std::byte{0x10}) != std::byte{0});
  check_decodes(chunk, 4, plain, random);
  params.use_dict = false;
  params.split = SplitMode::never;
  CHECK(encoded(params, plain).size() > chunk.size());
}

TEST_CASE("chunk_encoder: streams of one repeated byte are stored as runs",
          "[codec][chunk_encoder][unit]") {
  // Items in which one byte varies, one is always 7 and two are zero.
  Bytes plain(40000);
  for (std::size_t i = 0; i < plain.size(); i += 4) {
    plain[i] = static_cast<std::byte>(i / 64);
    plain[i + 1] = std::byte{7};
  }
  const EncodeParams params{
      .codec = CodecId::lz4, .clevel = 5, .typesize = 4, .filters = slots_of({1})};
  const auto walked = test::walk_chunk(encoded(params, plain));
  REQUIRE(walked);
  using test::StreamForm;
  CHECK(walked->forms ==
        std::vector{StreamForm::compressed, StreamForm::run, StreamForm::zeros, StreamForm::zeros});
}

TEST_CASE("chunk_encoder: many threads give the same bytes as one",
          "[codec][chunk_encoder][race]") {
  constexpr std::size_t kThreads = 8;
  const auto plain = test::plain_bytes(PlainKind::mixed, 300000, 8, 4);
  for (const auto codec : kCodecs) {
    const EncodeParams params{.codec = codec,
                              .clevel = 4,
                              .typesize = 8,
                              .filters = slots_of({1}),
                              .blocksize = 8192,
                              .use_dict = true};
    const auto serial = encoded(params, plain);
    const auto plan = ChunkPlan::make(params, plain);
    REQUIRE(plan);
    REQUIRE(plan->outcome() == ChunkOutcome::blocks);
    std::vector<Bytes> blocks(plan->block_count());
    std::vector<char> failed(kThreads);
    test::on_threads(kThreads, [&](std::size_t thread) {
      BlockEncoder encoder;
      for (std::size_t i = thread; i < blocks.size(); i += kThreads) {
        const auto range = plan->block_range({i});
        blocks[i].resize(plan->max_block_bytes({i}));
        const auto size = encoder.encode(
            *plan, {i}, std::span(plain).subspan(range.offset, range.size), blocks[i]);
        if (!size) failed[thread] = 1;
        blocks[i].resize(size.value_or(0));
      }
    });
    REQUIRE(std::ranges::count(failed, 1) == 0);
    const std::vector<std::span<const std::byte>> spans(blocks.begin(), blocks.end());
    Bytes out(ChunkPlan::max_bytes(plain.size()));
    out.resize(plan->assemble(plain, spans, out));
    CHECK(out == serial);
  }
}

TEST_CASE("chunk_encoder: parameters that cannot be are refused",
          "[codec][chunk_encoder][corrupt]") {
  ChunkEncoder encoder;
  Bytes out(1000);
  const auto plain = test::counting(100);
  EncodeParams params;
  params.clevel = 12;
  CHECK(outcome(encoder.encode(params, plain, out)) == "bad field: clevel at 0");
  params = {};
  params.filters[0].id = 3;
  CHECK(outcome(encoder.encode(params, plain, out)) == "unsupported: filter at 16");
}

}  // namespace
}  // namespace framefs::codec::chunk_encoder_test

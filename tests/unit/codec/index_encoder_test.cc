#include "codec/frame/index_encoder.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_reader.h"
#include "codec/core/limits.h"
#include "codec/frame/frame_index.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/support/source_doubles.h"

namespace framefs::codec::index_encoder_test {
namespace {

using test::Bytes;
using Entries = std::vector<std::int64_t>;

constexpr std::size_t kBlock = kIndexBlockBytes / kIndexEntryBytes;
constexpr std::size_t kMany = 20 * kBlock;  // enough for blocks to be kept
constexpr std::uint64_t kAt = 1000;         // of the stored index in its file

Entries offsets(std::size_t count, std::mt19937& random) {
  Entries entries(count);
  std::int64_t at = 0;
  for (auto& entry : entries) {
    entry = at;
    at += 40 + static_cast<std::int64_t>(random() % 50);
  }
  return entries;
}

Entries decoded(std::span<const std::byte> index, std::size_t count) {
  const MemorySource source(index);
  const auto chunk =
      Chunk::open(source, 0, index.size(), {.schunk_typesize = kIndexEntryBytes}, Limits{});
  REQUIRE(chunk);
  REQUIRE(chunk->header().cbytes == index.size());
  REQUIRE(chunk->nbytes() == count * kIndexEntryBytes);
  Bytes plain(chunk->nbytes());
  REQUIRE(ChunkReader(source, *chunk).read(0, plain));
  Entries entries;
  for (std::size_t at = 0; at < plain.size(); at += kIndexEntryBytes) {
    entries.push_back(load_le<std::int64_t>(plain.data() + at));
  }
  return entries;
}

// A frame's index, commit after commit.
class Commits {
 public:
  explicit Commits(const Entries& first) { commit(first); }

  // Returns the number of blocks that were encoded.
  std::uint64_t commit(const Entries& entries) {
    const Bytes trailer(35, std::byte{7});
    auto encoded = encoder_.encode(entries, trailer, MemorySource(file_));
    REQUIRE(encoded);
    const auto all = encoded->bytes();
    REQUIRE(all.size() == encoded->index_size + trailer.size());
    REQUIRE(std::ranges::equal(all.subspan(encoded->index_size), trailer));
    const auto index = all.first(encoded->index_size);
    const bool is_same = decoded(index, entries.size()) == entries;
    REQUIRE(is_same);
    const bool is_as_whole = std::ranges::equal(index, encode_index(entries).value());
    REQUIRE(is_as_whole);
    store(all, std::move(encoded->digests));
    return encoded->encoded_blocks;
  }

  void store(std::span<const std::byte> all, std::vector<IndexEncoder::Digest> digests) {
    file_.assign(kAt, std::byte{9});
    test::append(file_, all);
    encoder_.set_stored({kAt, all.size()}, std::move(digests));
  }

  [[nodiscard]] const IndexEncoder& encoder() const { return encoder_; }
  [[nodiscard]] Bytes& file() { return file_; }

 private:
  IndexEncoder encoder_;
  Bytes file_;
};

}  // namespace

TEST_CASE("index_encoder: only blocks with changed entries are encoded",
          "[codec][index_encoder][unit]") {
  std::mt19937 random(1);
  auto entries = offsets(kMany, random);
  Commits commits(entries);
  CHECK(commits.commit(entries) == 0);
  entries[5 * kBlock] += 1;
  CHECK(commits.commit(entries) == 1);
  entries[5 * kBlock] -= 1;
  entries[6 * kBlock - 1] = index_code(Special::zero);
  entries[7 * kBlock] = index_code(Special::nan);
  entries[kMany - 1] = index_code(Special::uninit);
  CHECK(commits.commit(entries) == 3);
  CHECK(commits.commit(entries) == 0);
  entries.push_back(entries[0] + 1);
  CHECK(commits.commit(entries) == 1);
  entries.push_back(entries[0] + 2);
  CHECK(commits.commit(entries) == 1);
  const auto more = offsets(2 * kBlock, random);
  entries.insert(entries.end(), more.begin(), more.end());
  CHECK(commits.commit(entries) == 3);
  entries.resize(kMany + 5);
  CHECK(commits.commit(entries) == 1);
  entries.resize(kMany);
  CHECK(commits.commit(entries) == 0);
  entries.resize(kMany - 1);
  CHECK(commits.commit(entries) == 1);
  std::swap(entries[3], entries[4]);
  CHECK(commits.commit(entries) == 1);
}

TEST_CASE("index_encoder: any sequence of indexes is encoded as each of them alone",
          "[codec][index_encoder][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  auto entries = offsets(kMany, random);
  Commits commits(entries);
  const auto one_of = [&](std::size_t count) { return random() % count; };
  const auto special = [&] {
    constexpr Special kSpecials[] = {Special::zero, Special::nan, Special::uninit};
    return index_code(kSpecials[one_of(3)]);
  };
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    switch (one_of(5)) {
      case 0:  // grow, also from below the number of entries from which blocks are kept
        entries.resize(entries.size() + one_of(3 * kBlock), special());
        break;
      case 1:
        entries.resize(entries.size() - one_of(std::min(entries.size(), 4 * kBlock)));
        break;
      case 2:
        for (int i = 0; i < 10; ++i) entries[one_of(entries.size())] = special();
        break;
      case 3:
        for (int i = 0; i < 10; ++i) {
          entries[one_of(entries.size())] = static_cast<std::int64_t>(random());
        }
        break;
      default:
        std::ranges::fill(std::span(entries).last(one_of(entries.size())), special());
    }
    if (entries.size() < kBlock) entries.resize(kMany, special());
    commits.commit(entries);
  }
}

TEST_CASE("index_encoder: an index of equal entries is a repeated value, also between others",
          "[codec][index_encoder][unit]") {
  Entries entries(kMany, index_code(Special::zero));
  Commits commits(entries);
  entries[kBlock] = 0;
  CHECK(commits.commit(entries) == 20);
  entries[kBlock] = 40;
  CHECK(commits.commit(entries) == 1);
  entries[kBlock] = entries[0];
  commits.commit(entries);
  CHECK(commits.file().size() == kAt + 40 + 35);
}

TEST_CASE("index_encoder: an index that does not compress is stored as it is",
          "[codec][index_encoder][unit]") {
  std::mt19937_64 random(1);
  Entries entries(kMany);
  for (auto& entry : entries) entry = static_cast<std::int64_t>(random());
  Commits commits(entries);
  entries[0] += 1;
  commits.commit(entries);
  CHECK(commits.file().size() == kAt + 32 + kMany * kIndexEntryBytes + 35);
}

TEST_CASE("index_encoder: a short index is encoded without reading the stored one",
          "[codec][index_encoder][unit]") {
  std::mt19937 random(1);
  auto entries = offsets(3 * kBlock, random);
  Commits commits(entries);
  entries[0] += 1;
  const MemorySource nothing({});
  const auto encoded = commits.encoder().encode(entries, {}, nothing);
  REQUIRE(encoded);
  CHECK(encoded->encoded_blocks == 3);
  CHECK(encoded->digests.empty());
}

TEST_CASE("index_encoder: the blocks of another program's index are encoded again",
          "[codec][index_encoder][unit]") {
  std::mt19937 random(1);
  const auto entries = offsets(kMany, random);
  Commits commits(entries);
  Bytes plain(kMany * kIndexEntryBytes);
  store_entries(entries, plain);
  auto params = index_params();
  SECTION("in blocks of another size") { params.blocksize *= 2; }
  SECTION("with another codec") { params.codec = CodecId::lz4; }
  SECTION("without the filter") { params.filters = {}; }
  SECTION("uncompressed") { params.clevel = 0; }
  ChunkEncoder encoder;
  Bytes stored(ChunkPlan::max_bytes(plain.size()));
  const auto size = encoder.encode(params, plain, stored);
  REQUIRE(size);
  stored.resize(*size);
  commits.store(stored, IndexEncoder::digests_of(entries));
  CHECK(commits.commit(entries) == 20);
  CHECK(commits.commit(entries) == 0);
}

TEST_CASE("index_encoder: a stored index that cannot be read is not needed",
          "[codec][index_encoder][corrupt]") {
  std::mt19937 random(1);
  auto entries = offsets(kMany, random);
  Commits commits(entries);
  entries[9] += 1;
  const auto whole = encode_index(entries).value();
  // The header, the block starts, then the blocks before and after the changed one.
  const MemorySource file(commits.file());
  int reads = 0;
  for (;; ++reads) {
    const test::FailingSource failing(file, reads + 1);
    const auto encoded = commits.encoder().encode(entries, {}, failing);
    REQUIRE(encoded);
    const bool is_same = std::ranges::equal(encoded->bytes(), whole);
    REQUIRE(is_same);
    CHECK(encoded->encoded_blocks == (failing.has_failed() ? 20 : 1));
    if (!failing.has_failed()) break;
  }
  CHECK(reads >= 2);
  for (const std::size_t damaged : {0U, 8U}) {  // version, blocksize
    auto bytes = commits.file();
    bytes[kAt + damaged] ^= std::byte{0xff};
    const auto encoded = commits.encoder().encode(entries, {}, MemorySource(bytes));
    REQUIRE(encoded);
    CHECK(encoded->encoded_blocks == 20);
    const bool is_same = std::ranges::equal(encoded->bytes(), whole);
    CHECK(is_same);
  }
}

TEST_CASE("index_encoder: blocks that differ in one entry have different digests",
          "[codec][index_encoder][unit]") {
  std::mt19937 random(1);
  auto entries = offsets(kMany, random);
  const auto before = IndexEncoder::digests_of(entries);
  REQUIRE(before.size() == 20);
  for (const std::size_t i : {0UL, 1UL, 2UL, 3UL, 1001UL, kBlock - 1}) {
    for (const std::int64_t change : {std::int64_t{1}, std::int64_t{1} << 40}) {
      CAPTURE(i, change);
      entries[i] ^= change;
      const auto after = IndexEncoder::digests_of(entries);
      entries[i] ^= change;
      CHECK(after[0] != before[0]);
      CHECK(std::equal(after.begin() + 1, after.end(), before.begin() + 1));
    }
  }
}

}  // namespace framefs::codec::index_encoder_test

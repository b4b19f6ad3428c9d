#include "codec/frame/stored_index.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/frame/frame_index.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/sample_data.h"

namespace framefs::codec::stored_index_test {
namespace {

using test::outcome;

constexpr std::uint64_t kAt = 50;  // where the index begins in the source

std::vector<std::int64_t> entries_of(std::size_t count) {
  std::vector<std::int64_t> entries(count);
  for (std::size_t i = 0; i < count; ++i) entries[i] = static_cast<std::int64_t>(i * 1000 % 77777);
  return entries;
}

// An index behind other bytes.
test::Bytes bytes_with(std::span<const std::int64_t> entries,
                       const EncodeParams& params = index_params()) {
  test::Bytes plain(entries.size() * kIndexEntryBytes);
  store_entries(entries, plain);
  test::Bytes bytes(kAt + ChunkPlan::max_bytes(plain.size()));
  ChunkEncoder encoder;
  bytes.resize(kAt + encoder.encode(params, plain, std::span(bytes).subspan(kAt)).value());
  return bytes;
}

Result<StoredIndex> open_in(const test::Bytes& bytes,
                            std::optional<std::uint64_t> entries = std::nullopt) {
  return StoredIndex::open(MemorySource(bytes), {kAt, bytes.size() - kAt}, entries, {});
}

TEST_CASE("stored_index: any range of entries is read as it was stored",
          "[codec][stored_index][unit]") {
  const auto entries = entries_of(20'000);
  const auto bytes = bytes_with(entries);
  const auto index = open_in(bytes, entries.size()).value();
  CHECK(index.at() == kAt);
  CHECK(index.entries() == entries.size());
  CHECK(index.table_bytes() > 0);
  for (const std::size_t first : {0U, 1U, 2047U, 2048U, 8191U, 19'999U}) {
    for (const std::size_t count : {1U, 2U, 2048U, 5000U}) {
      std::vector<std::int64_t> out(std::min(count, entries.size() - first));
      REQUIRE(index.read(MemorySource(bytes), {first}, out));
      CHECK(std::ranges::equal(out, std::span(entries).subspan(first, out.size())));
    }
  }
}

// Otherwise reads that start at a window would decode a block twice.
TEST_CASE("stored_index: a window has whole blocks of entries", "[codec][stored_index][unit]") {
  constexpr std::uint64_t kBlockEntries = kIndexBlockBytes / kIndexEntryBytes;
  const auto index = open_in(bytes_with(entries_of(20'000))).value();
  CHECK(index.window_entries() % kBlockEntries == 0);
  CHECK(index.window_entries() >= kBlockEntries);
}

TEST_CASE("stored_index: without a number from the frame, the index says how many entries it has",
          "[codec][stored_index][unit]") {
  const auto bytes = bytes_with(entries_of(3));
  CHECK(open_in(bytes)->entries() == 3);
  CHECK(outcome(open_in(bytes, 3)) == "ok");
  for (const std::uint64_t wrong : {0U, 2U, 4U}) {
    CHECK(outcome(open_in(bytes, wrong)) == "bad field: nbytes of the index at 54");
  }
}

TEST_CASE("stored_index: a chunk of other items is no index", "[codec][stored_index][corrupt]") {
  auto bytes = bytes_with(entries_of(4));
  bytes[kAt + 3] = std::byte{4};
  CHECK(outcome(open_in(bytes)) == "bad field: typesize of the index at 53");
}

TEST_CASE("stored_index: every truncated prefix is refused", "[codec][stored_index][corrupt]") {
  const auto bytes = bytes_with(entries_of(100));
  for (std::size_t size = kAt; size < bytes.size(); ++size) {
    INFO("prefix of " << size << " bytes");
    const test::Bytes prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto index = open_in(prefix);
    REQUIRE_FALSE(index);
    CHECK(index.error().at >= kAt);
  }
}

// Large tables are read again for each read, when another program may have replaced the index.
TEST_CASE("stored_index: an index with large tables is refused if it has changed since the open",
          "[codec][stored_index][corrupt]") {
  const auto entries = entries_of(1'000'000);
  auto params = index_params();
  params.blocksize = 256;
  const auto bytes = bytes_with(entries, params);
  const auto index = open_in(bytes).value();
  CHECK(index.table_bytes() == 0);
  std::vector<std::int64_t> out(3);
  REQUIRE(index.read(MemorySource(bytes), {987'654}, out));
  CHECK(std::ranges::equal(out, std::span(entries).subspan(987'654, 3)));
  auto other = bytes_with(entries_of(7));
  other.resize(bytes.size());
  CHECK(outcome(index.read(MemorySource(other), {0}, out)) ==
        "bad field: nbytes of the index at 54");
}

}  // namespace
}  // namespace framefs::codec::stored_index_test

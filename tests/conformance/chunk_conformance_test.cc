#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "tests/conformance/manifest.h"
#include "tests/conformance/verdict.h"
#include "tests/support/catch.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/sha256.h"

namespace framefs::test::chunk_conformance_test {
namespace {

using codec::Chunk;
using codec::Limits;
using codec::MemorySource;
using codec::Result;

void check_header(const ManifestEntry& entry, const Chunk& chunk) {
  CHECK(chunk.nbytes() == entry.nbytes);
  if (entry.typesize) CHECK(chunk.header().typesize == *entry.typesize);
  if (entry.chunk_version) CHECK(chunk.header().version == *entry.chunk_version);
  for (std::size_t slot = 0; slot < entry.filters.size(); ++slot) {
    INFO("filter slot " << slot);
    CHECK(chunk.header().filters[slot].id == entry.filters[slot]);
    CHECK(chunk.header().filters[slot].meta == entry.filters_meta[slot]);
  }
  if (entry.vlblocks.empty()) return;
  std::vector<std::uint64_t> block_bytes;
  for (codec::BlockIndex block; block.value < chunk.block_count(); ++block.value) {
    block_bytes.push_back(chunk.block_range(block).size);
  }
  CHECK(block_bytes == entry.vlblocks.front());
}

// A valid chunk of gigabytes in a few bytes.  Slices of it must be fast to read, and are zeros.
void check_slices(const MemorySource& source, const Chunk& chunk) {
  codec::ChunkReader reader(source, chunk);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{chunk.nbytes() / 2},
                                     std::uint64_t{chunk.nbytes()} - 4096}) {
    INFO("slice at " << offset);
    std::vector<std::byte> slice(4096, std::byte{1});
    REQUIRE(reader.read(offset, slice));
    CHECK(slice == std::vector<std::byte>(4096));
  }
  std::vector<std::byte> past_end(2);
  CHECK_FALSE(reader.read(chunk.nbytes() - 1, past_end));
}

Result<std::string> decode(const ManifestEntry& entry, const MemorySource& source,
                           const Chunk& chunk) {
  FRAMEFS_TRY(const auto whole, decode_whole(source, chunk));
  if (entry.expect == Expect::ok && !entry.may_refuse) {
    const auto blocks = decode_by_blocks(source, chunk);
    CHECK((blocks && *blocks == whole));
    std::mt19937 random(static_cast<std::uint32_t>(std::hash<std::string>{}(entry.path)));
    CHECK(subranges_agree(source, chunk, whole, random, 20));
  }
  return sha256_hex(whole);
}

TEST_CASE("chunk: loose chunks decode as the manifest says", "[codec][chunk][conformance]") {
  Tally tally;
  for (const ManifestEntry& entry : load_manifest(fixtures_folder())) {
    if (entry.kind != "chunk") continue;
    INFO(entry.path);
    const auto bytes = read_entry(entry);
    const MemorySource source(bytes);
    const auto chunk = Chunk::open(source, 0, bytes.size(), {}, Limits{});
    if (!chunk) {
      check_verdict(entry, std::unexpected(chunk.error()), tally);
      continue;
    }
    if (entry.expect == Expect::ok && !entry.may_refuse) check_header(entry, *chunk);
    if (entry.do_not_decode_whole) {
      check_slices(source, *chunk);
      ++tally.decoded;
      continue;
    }
    check_verdict(entry, decode(entry, source, *chunk), tally);
  }
  CHECK(tally.decoded > 0);
  CHECK(tally.refused > 0);
  std::cout << "chunks: " << tally << '\n';
}

}  // namespace
}  // namespace framefs::test::chunk_conformance_test

#include "fs/read/block_parts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/unit/fs/block_sample.h"

namespace framefs::fs::block_parts_test {
namespace {

using block_sample::damage_block;
using block_sample::Fetching;
using block_sample::same;
using block_sample::Sample;
using block_sample::spec_of;

// Oracle: the data, and the content of the cache.
TEST_CASE("block_parts: a block is decoded in part when it is first touched, and whole after that",
          "[fs][block_parts][unit]") {
  Sample sample;
  sample.add(test::ramp(4 * 1024, 4), spec_of(1024, {test::Filter::shuffle}));
  sample.open();
  Fetching fetching;
  const auto request = sample.request(0, 2);
  const ByteRange within{100, 64};
  const auto part = fetching.fetcher.parts().fetch(sample.source(), request, within);
  CHECK(same(part.bytes, sample.block(0, 2).subspan(within.offset, within.size)));
  CHECK(fetching.cache.held_bytes() == 0);
  CHECK(fetching.fetcher.parts().fetch(sample.source(), request, within).bytes == nullptr);
  CHECK(fetching.cache.held_bytes() == 0);
}

// Oracle: the data.
TEST_CASE("block_parts: a codec that decodes whole blocks gives parts while blocks are read once",
          "[fs][block_parts][unit]") {
  Sample sample;
  auto spec = spec_of(1024);
  spec.codec = test::Codec::zstd;
  sample.add(test::ramp(4 * 1024, 4), spec);
  sample.open();
  const auto request = sample.request(0, 2);
  const ByteRange within{100, 64};
  const auto is_part = [&](Fetching& fetching) {
    const auto part = fetching.fetcher.parts().fetch(sample.source(), request, within);
    return same(part.bytes, sample.block(0, 2).subspan(within.offset, within.size));
  };
  const auto read_one_block_often = [&](Fetching& fetching) {
    for (int i = 0; i < 1000; ++i) {
      static_cast<void>(
          fetching.fetcher.parts().fetch(sample.source(), sample.request(0, 1), within));
    }
  };
  Fetching once;
  CHECK(is_part(once));
  Fetching often;
  read_one_block_often(often);
  const auto hot = often.fetcher.parts().fetch(sample.source(), request, within);
  CHECK(hot.bytes == nullptr);
  CHECK(hot.is_hot);
  constexpr std::uint64_t kLessThanOneBlock = 1000;
  Fetching full(kLessThanOneBlock);
  read_one_block_often(full);
  CHECK(is_part(full));
}

TEST_CASE("block_parts: the first touches of a block take parts, if they do not follow at once",
          "[fs][block_parts][unit]") {
  constexpr std::uint32_t kBlocks = 256;
  Sample sample;
  sample.add(test::ramp(kBlocks * 1024, 4), spec_of(1024, {test::Filter::shuffle}));
  sample.open();
  const auto count_early = [&](Fetching& fetching, std::size_t first, std::size_t end) {
    int count = 0;
    for (auto block = first; block < end; ++block) {
      count += fetching.fetcher.parts().is_early(sample.request(0, block), {100, 64}) ? 1 : 0;
    }
    return count;
  };
  Fetching far_apart;
  for (int touch = 0; touch < 6; ++touch) CHECK(count_early(far_apart, 0, kBlocks) == kBlocks);
  CHECK(count_early(far_apart, 0, kBlocks) == 0);  // all blocks have been touched often
  Fetching slice;
  CHECK(count_early(slice, 0, 32) == 32);
  CHECK(count_early(slice, 0, 32) == 0);
  Fetching large;
  CHECK_FALSE(large.fetcher.parts().is_early(sample.request(0, 1), {0, 200}));
  CHECK(large.fetcher.parts().is_early(sample.request(0, 1), {0, 64}));  // that was no touch
}

// Oracle: the data.
TEST_CASE("block_parts: parts of several blocks are decoded without the cache",
          "[fs][block_parts][unit]") {
  Sample sample;
  sample.add(test::ramp(16 * 1024, 4), spec_of(1024, {test::Filter::shuffle}));
  sample.open();
  Fetching fetching;
  std::vector<BlockPart> parts;
  for (const std::size_t block : {3U, 0U, 7U}) {
    parts.push_back({sample.request(0, block), {block * 8, 100 + block}});
  }
  std::array<bool, 3> is_right{};
  REQUIRE(fetching.fetcher.parts().decode(sample.source(), parts, [&](auto i, auto block) {
    const auto [offset, size] = parts[i].within;
    const auto wanted = sample.block(0, parts[i].request.block.value).subspan(offset, size);
    is_right.at(i) = std::ranges::equal(block.subspan(offset, size), wanted);
  }));
  CHECK(is_right == std::array{true, true, true});
  CHECK(fetching.cache.held_bytes() == 0);
}

TEST_CASE("block_parts: there are no parts of blocks that are known, nor large ones",
          "[fs][block_parts][unit]") {
  Sample sample;
  sample.add(test::ramp(4 * 1024, 4), spec_of(1024, {test::Filter::shuffle}));
  sample.open();
  Fetching fetching;
  REQUIRE(fetching.fetch(sample, sample.requests(0, 0, 1)));
  CHECK(fetching.fetcher.parts().fetch(sample.source(), sample.request(0, 0), {0, 8}).bytes ==
        nullptr);
  CHECK(fetching.fetcher.parts().fetch(sample.source(), sample.request(0, 1), {0, 200}).bytes ==
        nullptr);
}

TEST_CASE("block_parts: there are no parts of blocks that are damaged or have failed",
          "[fs][block_parts][corrupt]") {
  Sample sample;
  sample.add(test::ramp(4 * 1024, 4), spec_of(1024, {test::Filter::shuffle}));
  damage_block(sample, sample.at(0), 1);
  sample.open();
  Fetching fetching;
  CHECK(fetching.fetcher.parts().fetch(sample.source(), sample.request(0, 1), {0, 8}).bytes ==
        nullptr);
  // The source is cut within the last block; the first bytes of that block are complete.
  Fetching another;
  const auto last = sample.stored(0, 3);
  const test::SharedSource cut(test::Bytes(
      sample.bytes().begin(),
      sample.bytes().begin() + static_cast<std::ptrdiff_t>(last.offset + last.size / 2)));
  const std::vector<BlockRequest> requests{sample.request(0, 3)};
  REQUIRE_FALSE(another.fetcher.fetch(cut, requests));
  CHECK(another.fetcher.parts().fetch(sample.source(), requests[0], {0, 8}).bytes == nullptr);
}

}  // namespace
}  // namespace framefs::fs::block_parts_test

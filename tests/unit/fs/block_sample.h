#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "codec/core/limits.h"
#include "fs/read/block_fetcher.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/unit/fs/shared_source.h"

namespace framefs::fs::block_sample {

inline constexpr std::uint64_t kMuch = 1u << 30;  // a budget that is never reached
inline constexpr std::uint64_t kFile = 1;
inline constexpr std::size_t kHeaderBytes = 32;

// Chunks in memory, one after the other, with their decoded bytes.
class Sample {
 public:
  void add(const test::Bytes& stored, test::Bytes data) {
    at_.push_back(bytes_.size());
    test::append(bytes_, stored);
    data_.push_back(std::move(data));
  }
  void add(test::Bytes data, const test::ChunkSpec& spec) {
    const auto stored = test::build_chunk(data, spec);
    add(stored, std::move(data));
  }

  // For tests that damage chunks, which they do before open(), or truncate the file, which they do
  // after.
  test::Bytes& bytes() { return bytes_; }
  void open() {
    whole_ = std::make_unique<test::SharedSource>(bytes_);
    for (const auto at : at_) {
      auto chunk = codec::Chunk::open(*whole_, at, bytes_.size() - at, {}, codec::Limits{});
      REQUIRE(chunk);
      REQUIRE(chunk->body() == codec::ChunkBody::blocks);
      chunks_.push_back(std::make_shared<const codec::Chunk>(std::move(*chunk)));
    }
    static_cast<void>(whole_->take_reads());
  }

  [[nodiscard]] const test::SharedSource& source() const { return *whole_; }
  // The number of bytes read since the last call.
  [[nodiscard]] std::uint64_t take_read_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& range : whole_->take_reads()) sum += range.size;
    return sum;
  }
  [[nodiscard]] std::size_t at(std::size_t chunk) const { return at_[chunk]; }
  [[nodiscard]] const codec::Chunk& chunk(std::size_t chunk) const { return *chunks_[chunk]; }
  [[nodiscard]] std::size_t chunk_count() const { return chunks_.size(); }
  [[nodiscard]] const test::Bytes& data(std::size_t chunk) const { return data_[chunk]; }
  [[nodiscard]] std::span<const std::byte> block(std::size_t chunk, std::size_t block) const {
    const auto range = chunks_[chunk]->block_range({block});
    return std::span(data_[chunk]).subspan(range.offset, range.size);
  }
  [[nodiscard]] ByteRange stored(std::size_t chunk, std::size_t block) const {
    const auto range = chunks_[chunk]->stored_range({block});
    REQUIRE(range);
    return *range;
  }
  [[nodiscard]] BlockRequest request(std::size_t chunk, std::size_t block) const {
    return {chunks_[chunk], {chunk}, {block}, kFile};
  }
  [[nodiscard]] std::vector<BlockRequest> requests(std::size_t chunk, std::size_t first,
                                                   std::size_t count) const {
    std::vector<BlockRequest> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(request(chunk, first + i));
    return all;
  }

 private:
  test::Bytes bytes_;
  std::vector<std::size_t> at_;
  std::vector<test::Bytes> data_;
  std::unique_ptr<test::SharedSource> whole_;
  std::vector<std::shared_ptr<const codec::Chunk>> chunks_;
};

// A fetcher with its services.
struct Fetching {
  explicit Fetching(std::uint64_t budget = kMuch, unsigned threads = 2)
      : buffers(1u << 20), cache(budget), pool(threads), fetcher(cache, buffers, pool) {}
  auto fetch(const Sample& sample, std::span<const BlockRequest> requests) {
    return fetcher.fetch(sample.source(), requests);
  }
  BufferPool buffers;
  DecodeCache cache;
  WorkerPool pool;
  BlockFetcher fetcher;
};

inline bool same(const BlockFetcher::Block& block, std::span<const std::byte> expected) {
  return block && std::ranges::equal(block->view(), expected);
}

inline test::ChunkSpec spec_of(std::uint32_t blocksize, std::vector<test::Filter> filters = {}) {
  test::ChunkSpec spec;
  spec.typesize = 4;
  spec.blocksize = blocksize;
  spec.filters = std::move(filters);
  return spec;
}

// Sets the size of a block's first stream to an invalid value.
inline void damage_block(Sample& sample, std::size_t chunk_at, std::size_t block) {
  const auto& bytes = sample.bytes();
  std::size_t start = 0;
  for (std::size_t i = 4; i-- > 0;) {
    start =
        start << 8 | std::to_integer<std::size_t>(bytes[chunk_at + kHeaderBytes + 4 * block + i]);
  }
  test::put_le<std::int32_t>(sample.bytes(), chunk_at + start, std::numeric_limits<int>::max());
}

}  // namespace framefs::fs::block_sample

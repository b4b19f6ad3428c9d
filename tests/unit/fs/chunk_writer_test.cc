#include "fs/write/commit/chunk_writer.h"

#include <atomic>
#include <cstdint>
#include <random>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/frame/frame_index.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/decode_oracle.h"

namespace framefs::fs::chunk_writer_test {
namespace {

using test::Bytes;

// Keeps the stored chunks in memory.  The index entry of a chunk is its number in the order of the
// stores.
class MemoryBackend final : public FrameBackend {
 public:
  Status check_unchanged() override { return {}; }
  [[nodiscard]] std::uint64_t touches() const override { return 0; }
  void note_times() override {}
  Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) override {
    return chunks_.with([&](std::vector<Bytes>& chunks) -> Result<std::int64_t> {
      if (chunk.size() == refused_bytes) return codec::fail(Errc::no_space, "store");
      chunks.emplace_back(chunk.begin(), chunk.end());
      return static_cast<std::int64_t>(chunks.size()) - 1;
    });
  }
  void drop(std::int64_t) override {}
  Status prepare(const FrameContent&) override { return {}; }
  Status publish() override { return {}; }
  [[nodiscard]] bool wants_reclaim() const override { return false; }
  Status reclaim() override { return {}; }
  [[nodiscard]] std::uint64_t max_empty_trailer() const noexcept override { return 0; }
  void release_old_states() override {}
  void set_params(const codec::FrameHeader&) override {}
  void set_chunksize(std::uint32_t) override {}
  [[nodiscard]] int content_fd() const noexcept override { return -1; }
  [[nodiscard]] int lock_fd() const noexcept override { return -1; }
  [[nodiscard]] Result<struct stat> content_stat() const override { return {}; }
  Status compact(const FrameContent&, const Moved&) override { return {}; }
  Usage usage(std::span<const std::int64_t>) override { return {}; }

  [[nodiscard]] Bytes chunk(std::int64_t entry) const {
    return chunks_.with(
        [&](const auto& chunks) { return chunks.at(static_cast<std::size_t>(entry)); });
  }
  [[nodiscard]] std::size_t count() const {
    return chunks_.with([](const auto& chunks) { return chunks.size(); });
  }

  std::size_t refused_bytes = 0;  // a chunk of this size finds no space

 private:
  Status sync_files() override { return {}; }
  Guarded<std::vector<Bytes>> chunks_;
};

codec::EncodeParams params() {
  codec::EncodeParams params{.codec = codec::CodecId::lz4, .typesize = 4};
  params.filters.back().id = 1;  // shuffle
  params.blocksize = 16u << 10;
  return params;
}

// Numbers that grow slowly, so that every chunk compresses and no two chunks are alike.
Bytes slow_numbers(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes;
  auto number = seed;
  while (bytes.size() < size) {
    number += static_cast<std::uint32_t>(random() % 7);
    test::append_le(bytes, number);
  }
  bytes.resize(size);
  return bytes;
}

Bytes decoded(const Bytes& stored) {
  const codec::MemorySource source(stored);
  const auto chunk =
      codec::Chunk::open(source, 0, stored.size(), {.schunk_typesize = 4}, codec::Limits{});
  REQUIRE(chunk);
  const auto plain = test::decode_whole(source, *chunk);
  REQUIRE(plain);
  return *plain;
}

// Stores chunks of these sizes.
std::vector<Bytes> write_all(unsigned threads, std::span<const Bytes> plain) {
  WorkerPool workers(threads);
  ChunkWriter writer(workers);
  MemoryBackend backend;
  std::vector<ChunkWriter::Job> jobs;
  for (const auto& bytes : plain) jobs.push_back({.plain = bytes});
  writer.write(backend, params(), jobs, [](std::size_t) {});
  std::vector<Bytes> stored;
  for (const auto& job : jobs) {
    REQUIRE(job.entry);
    stored.push_back(backend.chunk(*job.entry));
  }
  return stored;
}

TEST_CASE("chunk_writer: each job gets its own chunk, the same with any number of threads",
          "[fs][write][unit]") {
  std::vector<Bytes> plain;
  // The largest, if it is alone, is encoded by several threads.
  for (const std::size_t size : {1u, 4u, 1000u, 65536u, 700'000u}) {
    plain.push_back(slow_numbers(size, static_cast<std::uint32_t>(plain.size() + 1)));
  }
  const auto stored = write_all(1, plain);
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(decoded(stored[i]) == plain[i]);
  CHECK(write_all(3, plain) == stored);
  const auto alone = write_all(3, std::span(plain).last(1));
  CHECK(alone.front() == stored.back());
}

TEST_CASE("chunk_writer: a chunk of zeros is an index entry without bytes", "[fs][write][unit]") {
  WorkerPool workers(2);
  ChunkWriter writer(workers);
  MemoryBackend backend;
  const Bytes small(4096);
  const Bytes large(1u << 20);
  std::vector<ChunkWriter::Job> jobs{{.plain = small}, {.plain = large}};
  writer.write(backend, params(), jobs, [](std::size_t) {});
  for (const auto& job : jobs) CHECK(job.entry.value() == codec::index_code(codec::Special::zero));
  jobs = {{.plain = large}};
  writer.write(backend, params(), jobs, [](std::size_t) {});
  CHECK(jobs[0].entry.value() == codec::index_code(codec::Special::zero));
  CHECK(backend.count() == 0);
}

TEST_CASE("chunk_writer: a chunk that finds no space fails alone", "[fs][write][unit]") {
  const std::vector<Bytes> plain{slow_numbers(5000, 1), slow_numbers(9000, 2),
                                 slow_numbers(5000, 3)};
  const auto stored = write_all(2, plain);
  WorkerPool workers(2);
  ChunkWriter writer(workers);
  MemoryBackend backend;
  backend.refused_bytes = stored[1].size();
  std::vector<ChunkWriter::Job> jobs;
  for (const auto& bytes : plain) jobs.push_back({.plain = bytes});
  writer.write(backend, params(), jobs, [](std::size_t) {});
  REQUIRE(jobs[0].entry);
  CHECK(backend.chunk(*jobs[0].entry) == stored[0]);
  REQUIRE_FALSE(jobs[1].entry);
  CHECK(jobs[1].entry.error().kind == Errc::no_space);
  REQUIRE(jobs[2].entry);
  CHECK(backend.chunk(*jobs[2].entry) == stored[2]);
}

}  // namespace
}  // namespace framefs::fs::chunk_writer_test

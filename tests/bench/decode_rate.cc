// framefs_decode_rate: the decoding speed of the codec, without a filesystem.
//
//   framefs_decode_rate THREADS FRAME
//
// The frame is in memory.  The threads take chunks in turn and decode them block by block, each
// into its own memory.  Prints {"bytes", "reads", "wall_s", "cpu_s"} as JSON; each chunk counts as
// a read.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "codec/chunk/block_decoder.h"
#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_source.h"
#include "codec/frame/frame.h"
#include "tests/bench/stopwatch.h"
#include "tests/support/bytes.h"

namespace framefs {
namespace {

struct Input {
  test::Bytes bytes;
  codec::MemorySource source{bytes};
  codec::Limits limits;
};

// The work of one thread.
class Worker {
 public:
  Worker(const Input& input, const codec::Frame& frame)
      : input_(input), frame_(frame), out_(frame.header().chunksize) {}

  codec::Status decode(codec::ChunkIndex index) {
    std::int64_t entry = 0;
    FRAMEFS_CHECK(frame_.read_entries(input_.source, index, std::span(&entry, 1)));
    FRAMEFS_TRY(const auto chunk, frame_.open_chunk(input_.source, index, entry, input_.limits));
    out_.resize(chunk.nbytes());
    if (chunk.body() != codec::ChunkBody::blocks) {
      return codec::ChunkReader(input_.source, chunk).read(0, out_);
    }
    for (std::uint32_t i = 0; i < chunk.block_count(); ++i) {
      FRAMEFS_TRY(const auto stored, chunk.stored_range({i}));
      const auto range = chunk.block_range({i});
      const std::span<const std::byte> first =
          i > 0 && chunk.needs_first_block() ? std::span(out_).first(chunk.block_range({0}).size)
                                             : std::span<std::byte>{};
      FRAMEFS_CHECK(decoder_.decode(chunk, {i},
                                    std::span(input_.bytes).subspan(stored.offset, stored.size),
                                    std::span(out_).subspan(range.offset, range.size), first));
    }
    return {};
  }

 private:
  const Input& input_;
  const codec::Frame& frame_;
  codec::BlockDecoder decoder_;
  test::Bytes out_;
};

codec::Status decode_all(std::span<Worker> workers, std::uint64_t chunk_count) {
  std::atomic<std::uint64_t> next{0};
  std::vector<codec::Status> results(workers.size());
  {
    std::vector<std::jthread> running;
    running.reserve(workers.size());
    for (std::size_t at = 0; at < workers.size(); ++at) {
      running.emplace_back([&, at] {
        auto& result = results[at];
        for (auto i = next++; result && i < chunk_count; i = next++) {
          result = workers[at].decode({i});
        }
      });
    }
  }
  for (const auto& result : results) FRAMEFS_CHECK(result);
  return {};
}

test::Bytes file_bytes(const char* path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  test::Bytes bytes(in ? static_cast<std::size_t>(in.tellg()) : 0);
  in.seekg(0);
  in.read(test::as_chars(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

}  // namespace
}  // namespace framefs

int main(int argc, char** argv) {
  using namespace framefs;
  const auto threads = argc == 3 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (threads == 0 || threads > 1024) {
    std::cerr << "usage: framefs_decode_rate THREADS FRAME\n";
    return 2;
  }
  const Input input{.bytes = file_bytes(argv[2]), .limits = {}};
  const auto frame = codec::Frame::open(input.source, input.limits);
  if (!frame) {
    std::cerr << "framefs_decode_rate: " << argv[2] << " is no frame\n";
    return 1;
  }
  std::vector<Worker> workers;
  workers.reserve(threads);
  for (unsigned long i = 0; i < threads; ++i) workers.emplace_back(input, *frame);
  const bench::Stopwatch stopwatch;
  if (!decode_all(workers, frame->chunk_count())) {
    std::cerr << "framefs_decode_rate: " << argv[2] << " does not decode\n";
    return 1;
  }
  stopwatch.print(frame->nbytes(), frame->chunk_count());
  return 0;
}

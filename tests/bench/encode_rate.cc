// framefs_encode_rate: the encoding speed of the codec, without a filesystem.
//
//   framefs_encode_rate THREADS CODEC LEVEL TYPESIZE FILTER CHUNK TIMES FILE
//
// FILE is in memory.  The threads take chunks of CHUNK bytes in turn, and the whole file TIMES
// times.  FILTER is 0 (none), 1 (shuffle) or 2 (bitshuffle).  Prints {"bytes", "reads", "wall_s",
// "cpu_s"} as JSON; each chunk counts as a read.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/chunk/codec_names.h"
#include "tests/bench/stopwatch.h"

namespace {

using namespace framefs;

struct Work {
  codec::EncodeParams params;
  std::size_t chunksize;
  std::uint64_t times;
  std::span<const std::byte> plain;

  [[nodiscard]] std::uint64_t chunks_once() const {
    return (plain.size() + chunksize - 1) / chunksize;
  }
  [[nodiscard]] std::span<const std::byte> chunk(std::uint64_t index) const {
    const auto at = index % chunks_once() * chunksize;
    return plain.subspan(at, std::min(chunksize, plain.size() - at));
  }
};

// The work of one thread.
void encode_some(const Work& work, std::atomic<std::uint64_t>& next) {
  codec::ChunkEncoder encoder;
  std::vector<std::byte> out(codec::ChunkPlan::max_bytes(work.chunksize));
  for (auto i = next++; i < work.chunks_once() * work.times; i = next++) {
    if (!encoder.encode(work.params, work.chunk(i), out)) std::abort();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  const auto* const codec_word =
      argc == 9 ? std::ranges::find(codec::kCodecWords, arguments[2],
                                    [](const auto& word) { return std::string(word.first); })
                : std::ranges::end(codec::kCodecWords);
  if (codec_word == std::ranges::end(codec::kCodecWords)) {
    std::cerr
        << "usage: framefs_encode_rate THREADS CODEC LEVEL TYPESIZE FILTER CHUNK TIMES FILE\n";
    return 2;
  }
  std::ifstream file(arguments[8], std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  Work work{.params = {.codec = codec_word->second, .clevel = std::stoi(arguments[3])},
            .chunksize = std::stoul(arguments[6]),
            .times = std::stoul(arguments[7]),
            .plain = std::as_bytes(std::span(content))};
  work.params.typesize = static_cast<std::uint32_t>(std::stoul(arguments[4]));
  work.params.filters[5].id = static_cast<std::uint8_t>(std::stoul(arguments[5]));
  std::atomic<std::uint64_t> next{0};
  const bench::Stopwatch stopwatch;
  {
    std::vector<std::jthread> threads;
    for (unsigned long i = 0; i < std::stoul(arguments[1]); ++i) {
      threads.emplace_back([&] { encode_some(work, next); });
    }
  }
  stopwatch.print(work.plain.size() * work.times, work.chunks_once() * work.times);
  return 0;
}

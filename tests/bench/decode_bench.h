#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/support/bytes.h"

namespace framefs::bench {

using test::Bytes;

inline constexpr std::size_t kSampleBytes = std::size_t{4} << 20;
// The decoded sizes of streams: small and large parts of a split block, and a whole block.
inline constexpr std::size_t kSmall = std::size_t{2} << 10;
inline constexpr std::size_t kLarge = std::size_t{32} << 10;
inline constexpr std::size_t kUnsplit = std::size_t{256} << 10;

// One kind of data, as the streams of its blocks.
struct Sample {
  struct Stream {
    Bytes stored;
    Bytes plain;
  };
  std::string name;
  std::vector<Stream> streams;
  std::size_t plain_bytes = 0;
  std::size_t stored_bytes = 0;
  std::size_t longest = 0;  // of the decoded streams
};

// Like a chunk, omits streams that do not get smaller: a chunk stores those uncompressed.
inline Sample make_sample(std::string name, const Bytes& data, std::size_t stream_bytes,
                          const std::function<Bytes(std::span<const std::byte>)>& encode) {
  Sample sample{.name = std::move(name), .streams = {}};
  for (std::size_t at = 0; at < data.size(); at += stream_bytes) {
    const auto plain = std::span(data).subspan(at, std::min(stream_bytes, data.size() - at));
    auto stored = encode(plain);
    if (stored.size() >= plain.size()) continue;
    sample.plain_bytes += plain.size();
    sample.stored_bytes += stored.size();
    sample.longest = std::max(sample.longest, plain.size());
    sample.streams.push_back({std::move(stored), Bytes(plain.begin(), plain.end())});
  }
  return sample;
}

// Decodes the first `count` bytes of a stream into `out`, which has the stream's decoded size.
// Returns whether this succeeded.
using Decode = std::function<bool(std::span<const std::byte> stored, std::span<std::byte> out,
                                  std::size_t count)>;

// Measures decoding the first `num`/`den` of every stream, after checking the bytes once.
inline void measure(const std::string& name, const Sample& sample, const Decode& decode,
                    std::size_t num = 1, std::size_t den = 1) {
  const auto run = [sample, decode, num, den](benchmark::State& state) {
    Bytes out(sample.longest);
    const auto count_of = [&](const Sample::Stream& stream) {
      return stream.plain.size() * num / den;
    };
    for (const auto& stream : sample.streams) {
      const auto room = std::span(out).first(stream.plain.size());
      const auto count = count_of(stream);
      if (!decode(stream.stored, room, count) ||
          !std::ranges::equal(room.first(count), std::span(stream.plain).first(count))) {
        state.SkipWithError("wrong bytes");
        return;
      }
    }
    for (auto _ : state) {
      for (const auto& stream : sample.streams) {
        benchmark::DoNotOptimize(
            decode(stream.stored, std::span(out).first(stream.plain.size()), count_of(stream)));
        benchmark::ClobberMemory();
      }
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                            static_cast<std::int64_t>(sample.plain_bytes * num / den));
    state.counters["compression"] =
        static_cast<double>(sample.plain_bytes) / static_cast<double>(sample.stored_bytes);
  };
  benchmark::RegisterBenchmark((name + "/" + sample.name).c_str(), run);
}

// Runs what was registered.  Returns the exit code.
inline int run_all() {
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace framefs::bench

// The decoding speed of BloscLZ streams, beside that of the byte-by-byte decoder that is the tests'
// oracle.  The ratio of the two depends less on the machine than the speeds.
//
//   framefs_blosclz_bench [--benchmark_filter=...]
//
// Each pass decodes all streams of one kind of data; bytes_per_second counts decoded bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "codec/compressor/blosclz.h"
#include "tests/support/blosclz_encoder.h"
#include "tests/support/blosclz_reference.h"
#include "tests/support/bytes.h"
#include "tests/support/stream_samples.h"

namespace framefs {
namespace {

using test::Bytes;

constexpr std::size_t kSampleBytes = std::size_t{4} << 20;

struct Stream {
  Bytes stored;
  Bytes plain;
};

// One kind of data, as the streams of its blocks.
struct Sample {
  std::string name;
  std::vector<Stream> streams;
  std::size_t plain_bytes = 0;
  std::size_t stored_bytes = 0;
  std::size_t longest = 0;  // of the decoded streams
};

// Like a chunk, omits streams that do not get smaller: a chunk stores those uncompressed.
Sample make_sample(std::string name, const Bytes& data, std::size_t stream_bytes) {
  Sample sample{.name = std::move(name), .streams = {}};
  for (std::size_t at = 0; at < data.size(); at += stream_bytes) {
    const auto plain = std::span(data).subspan(at, stream_bytes);
    Stream stream{test::blosclz_encode(plain), Bytes(plain.begin(), plain.end())};
    if (stream.stored.size() >= plain.size()) continue;
    sample.plain_bytes += plain.size();
    sample.stored_bytes += stream.stored.size();
    sample.longest = std::max(sample.longest, plain.size());
    sample.streams.push_back(std::move(stream));
  }
  return sample;
}

std::vector<Sample> make_samples() {
  constexpr std::size_t kItems = kSampleBytes / 8;
  const Bytes floats = test::sample_shuffled_floats(kItems, 1);
  const Bytes times = test::sample_shuffled_times(kItems, 1);
  const Bytes text = test::sample_text(kSampleBytes, 1);
  constexpr std::size_t kSmall = std::size_t{2} << 10;
  constexpr std::size_t kLarge = std::size_t{32} << 10;
  constexpr std::size_t kUnsplit = std::size_t{256} << 10;
  std::vector<Sample> samples;
  samples.push_back(make_sample("shuffled_floats/32K", floats, kLarge));
  samples.push_back(make_sample("shuffled_floats/2K", floats, kSmall));
  samples.push_back(make_sample("shuffled_times/32K", times, kLarge));
  samples.push_back(make_sample("text/256K", text, kUnsplit));
  samples.push_back(make_sample("text/2K", text, kSmall));
  return samples;
}

// Decodes one stream into `out`.  Returns whether this succeeded.
using Decode = bool (*)(std::span<const std::byte> stored, std::span<std::byte> out);

bool decode_fast(std::span<const std::byte> stored, std::span<std::byte> out) {
  return codec::decode_blosclz(stored, out).has_value();
}

bool decode_by_bytes(std::span<const std::byte> stored, std::span<std::byte> out) {
  const auto plain = test::blosclz_reference(stored, out.size());
  if (!plain || plain->size() != out.size()) return false;
  std::ranges::copy(*plain, out.begin());
  return true;
}

void run(benchmark::State& state, const Sample& sample, Decode decode) {
  Bytes out(sample.longest);
  for (const auto& stream : sample.streams) {
    const auto room = std::span(out).first(stream.plain.size());
    if (!decode(stream.stored, room) || !std::ranges::equal(room, stream.plain)) {
      state.SkipWithError("wrong bytes");
      return;
    }
  }
  for (auto _ : state) {
    for (const auto& stream : sample.streams) {
      benchmark::DoNotOptimize(decode(stream.stored, std::span(out).first(stream.plain.size())));
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(sample.plain_bytes));
  state.counters["compression"] =
      static_cast<double>(sample.plain_bytes) / static_cast<double>(sample.stored_bytes);
}

}  // namespace
}  // namespace framefs

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const auto samples = framefs::make_samples();
  for (const auto& sample : samples) {
    const auto measure = [&sample](const std::string& name, framefs::Decode decode) {
      benchmark::RegisterBenchmark((name + sample.name).c_str(), framefs::run, sample, decode);
    };
    measure("fast/", framefs::decode_fast);
    measure("by_bytes/", framefs::decode_by_bytes);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

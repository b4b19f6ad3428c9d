// The decoding speed of LZ4 streams, whole and in part, beside that of the library's decoder.  The
// ratio of the two depends less on the machine than the speeds.
//
//   framefs_lz4_bench [--benchmark_filter=...]
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
#include <lz4.h>

#include "codec/compressor/lz4_decoder.h"
#include "tests/support/bytes.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/stream_encoder.h"
#include "tests/support/stream_samples.h"

namespace framefs {
namespace {

using test::Bytes;
using test::Codec;

constexpr std::size_t kSampleBytes = std::size_t{4} << 20;
constexpr int kLevel = 9;  // of LZ4HC

struct Stream {
  Bytes stored;
  Bytes plain;
};

// One kind of data, as the streams of its blocks.
struct Sample {
  std::string name;
  std::vector<Stream> streams;
  Bytes dictionary;
  std::size_t plain_bytes = 0;
  std::size_t stored_bytes = 0;
  std::size_t longest = 0;  // of the decoded streams
};

// Like a chunk, omits streams that do not get smaller: a chunk stores those uncompressed.
Sample make_sample(std::string name, Codec codec, const Bytes& data, std::size_t stream_bytes,
                   const Bytes& dictionary) {
  Sample sample{.name = std::move(name), .streams = {}, .dictionary = dictionary};
  for (std::size_t at = 0; at < data.size(); at += stream_bytes) {
    const auto plain = std::span(data).subspan(at, stream_bytes);
    Stream stream{test::compress_stream(codec, kLevel, plain, dictionary),
                  Bytes(plain.begin(), plain.end())};
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
  const Bytes dictionary = test::sample_text(std::size_t{32} << 10, 9);
  constexpr std::size_t kSmall = std::size_t{2} << 10;
  constexpr std::size_t kLarge = std::size_t{32} << 10;
  constexpr std::size_t kUnsplit = std::size_t{256} << 10;
  std::vector<Sample> samples;
  for (const auto codec : {Codec::lz4, Codec::lz4hc}) {
    const std::string prefix = codec == Codec::lz4 ? "lz4/" : "lz4hc/";
    samples.push_back(make_sample(prefix + "shuffled_floats/32K", codec, floats, kLarge, {}));
    samples.push_back(make_sample(prefix + "shuffled_floats/2K", codec, floats, kSmall, {}));
    samples.push_back(make_sample(prefix + "shuffled_times/32K", codec, times, kLarge, {}));
    samples.push_back(make_sample(prefix + "text/256K", codec, text, kUnsplit, {}));
    samples.push_back(make_sample(prefix + "text/2K", codec, text, kSmall, {}));
    samples.push_back(make_sample(prefix + "text/32K/dict", codec, text, kLarge, dictionary));
  }
  return samples;
}

// Decodes the first `count` bytes of a stream into `out`, which has the stream's decoded size.
// Returns whether this succeeded.
using Decode = bool (*)(const Sample& sample, std::span<const std::byte> stored,
                        std::span<std::byte> out, std::size_t count);

bool decode_ours(const Sample& sample, std::span<const std::byte> stored, std::span<std::byte> out,
                 std::size_t count) {
  if (count == out.size()) return codec::decode_lz4(stored, out, sample.dictionary).has_value();
  return codec::decode_lz4_prefix(stored, out, count).has_value();
}

bool decode_by_library(const Sample& sample, std::span<const std::byte> stored,
                       std::span<std::byte> out, std::size_t count) {
  const auto* from = test::as_chars(stored.data());
  auto* to = test::as_chars(out.data());
  const auto stored_bytes = static_cast<int>(stored.size());
  const auto out_bytes = static_cast<int>(out.size());
  if (count != out.size()) {
    return LZ4_decompress_safe_partial(from, to, stored_bytes, static_cast<int>(count),
                                       out_bytes) >= static_cast<int>(count);
  }
  if (sample.dictionary.empty()) {
    return LZ4_decompress_safe(from, to, stored_bytes, out_bytes) == out_bytes;
  }
  return LZ4_decompress_safe_usingDict(from, to, stored_bytes, out_bytes,
                                       test::as_chars(sample.dictionary.data()),
                                       static_cast<int>(sample.dictionary.size())) == out_bytes;
}

// Decodes the first `num`/`den` of every stream.
void run(benchmark::State& state, const Sample& sample, Decode decode, std::size_t num,
         std::size_t den) {
  Bytes out(sample.longest);
  const auto count_of = [num, den](const Stream& stream) {
    return stream.plain.size() * num / den;
  };
  for (const auto& stream : sample.streams) {
    const auto room = std::span(out).first(stream.plain.size());
    const auto count = count_of(stream);
    if (!decode(sample, stream.stored, room, count) ||
        !std::ranges::equal(room.first(count), std::span(stream.plain).first(count))) {
      state.SkipWithError("wrong bytes");
      return;
    }
  }
  for (auto _ : state) {
    for (const auto& stream : sample.streams) {
      benchmark::DoNotOptimize(decode(sample, stream.stored,
                                      std::span(out).first(stream.plain.size()), count_of(stream)));
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(sample.plain_bytes * num / den));
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
      benchmark::RegisterBenchmark((name + "/whole/" + sample.name).c_str(), framefs::run, sample,
                                   decode, 1, 1);
      if (!sample.dictionary.empty()) return;  // such streams are always decoded as a whole
      benchmark::RegisterBenchmark((name + "/quarter/" + sample.name).c_str(), framefs::run, sample,
                                   decode, 1, 4);
    };
    measure("ours", framefs::decode_ours);
    measure("library", framefs::decode_by_library);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

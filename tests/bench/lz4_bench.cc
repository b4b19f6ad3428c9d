// The decoding speed of LZ4 streams, whole and in part, beside that of the library's decoder.  The
// ratio of the two depends less on the machine than the speeds.
//
//   framefs_lz4_bench [--benchmark_filter=...]
//
// Each pass decodes all streams of one kind of data; bytes_per_second counts decoded bytes.

#include <lz4.h>

#include "codec/compressor/lz4_decoder.h"
#include "tests/bench/decode_bench.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/stream_encoder.h"
#include "tests/support/stream_samples.h"

namespace framefs::bench {
namespace {

using test::Codec;

constexpr int kLevel = 9;  // of LZ4HC

Decode ours(const Bytes& dictionary) {
  return
      [dictionary](std::span<const std::byte> stored, std::span<std::byte> out, std::size_t count) {
        if (count == out.size()) return codec::decode_lz4(stored, out, dictionary).has_value();
        return codec::decode_lz4_prefix(stored, out, count).has_value();
      };
}

Decode of_library(const Bytes& dictionary) {
  return
      [dictionary](std::span<const std::byte> stored, std::span<std::byte> out, std::size_t count) {
        const auto* from = test::as_chars(stored.data());
        auto* to = test::as_chars(out.data());
        const auto stored_bytes = static_cast<int>(stored.size());
        const auto out_bytes = static_cast<int>(out.size());
        if (count != out.size()) {
          return LZ4_decompress_safe_partial(from, to, stored_bytes, static_cast<int>(count),
                                             out_bytes) >= static_cast<int>(count);
        }
        if (dictionary.empty()) {
          return LZ4_decompress_safe(from, to, stored_bytes, out_bytes) == out_bytes;
        }
        return LZ4_decompress_safe_usingDict(from, to, stored_bytes, out_bytes,
                                             test::as_chars(dictionary.data()),
                                             static_cast<int>(dictionary.size())) == out_bytes;
      };
}

void add(Codec codec, const std::string& name, const Bytes& data, std::size_t stream_bytes,
         const Bytes& dictionary = {}) {
  const auto prefix = codec == Codec::lz4 ? std::string("lz4/") : std::string("lz4hc/");
  const auto sample =
      make_sample(prefix + name, data, stream_bytes, [&](std::span<const std::byte> plain) {
        return test::compress_stream(codec, kLevel, plain, dictionary);
      });
  measure("ours/whole", sample, ours(dictionary));
  measure("library/whole", sample, of_library(dictionary));
  if (!dictionary.empty()) return;  // such streams are always decoded as a whole
  measure("ours/quarter", sample, ours(dictionary), 1, 4);
  measure("library/quarter", sample, of_library(dictionary), 1, 4);
}

void add_all() {
  const Bytes floats = test::sample_shuffled_floats(kSampleBytes / 8, 1);
  const Bytes times = test::sample_shuffled_times(kSampleBytes / 8, 1);
  const Bytes text = test::sample_text(kSampleBytes, 1);
  const Bytes dictionary = test::sample_text(std::size_t{32} << 10, 9);
  for (const auto codec : {Codec::lz4, Codec::lz4hc}) {
    add(codec, "shuffled_floats/32K", floats, kLarge);
    add(codec, "shuffled_floats/2K", floats, kSmall);
    add(codec, "shuffled_times/32K", times, kLarge);
    add(codec, "text/256K", text, kUnsplit);
    add(codec, "text/2K", text, kSmall);
    add(codec, "text/32K/dict", text, kLarge, dictionary);
  }
}

}  // namespace
}  // namespace framefs::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  framefs::bench::add_all();
  return framefs::bench::run_all();
}

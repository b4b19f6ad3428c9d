// The decoding speed of BloscLZ streams, beside that of the byte-by-byte decoder that is the tests'
// oracle.  The ratio of the two depends less on the machine than the speeds.
//
//   framefs_blosclz_bench [--benchmark_filter=...]
//
// Each pass decodes all streams of one kind of data; bytes_per_second counts decoded bytes.

#include "codec/compressor/blosclz.h"
#include "tests/bench/decode_bench.h"
#include "tests/support/blosclz_encoder.h"
#include "tests/support/blosclz_reference.h"
#include "tests/support/stream_samples.h"

namespace framefs::bench {
namespace {

bool decode_fast(std::span<const std::byte> stored, std::span<std::byte> out, std::size_t) {
  return codec::decode_blosclz(stored, out).has_value();
}

bool decode_by_bytes(std::span<const std::byte> stored, std::span<std::byte> out, std::size_t) {
  const auto plain = test::blosclz_reference(stored, out.size());
  if (!plain || plain->size() != out.size()) return false;
  std::ranges::copy(*plain, out.begin());
  return true;
}

void add(const std::string& name, const Bytes& data, std::size_t stream_bytes) {
  const auto sample = make_sample(name, data, stream_bytes, test::blosclz_encode);
  measure("fast", sample, decode_fast);
  measure("by_bytes", sample, decode_by_bytes);
}

void add_all() {
  const Bytes floats = test::sample_shuffled_floats(kSampleBytes / 8, 1);
  const Bytes text = test::sample_text(kSampleBytes, 1);
  add("shuffled_floats/32K", floats, kLarge);
  add("shuffled_floats/2K", floats, kSmall);
  add("shuffled_times/32K", test::sample_shuffled_times(kSampleBytes / 8, 1), kLarge);
  add("text/256K", text, kUnsplit);
  add("text/2K", text, kSmall);
}

}  // namespace
}  // namespace framefs::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  framefs::bench::add_all();
  return framefs::bench::run_all();
}

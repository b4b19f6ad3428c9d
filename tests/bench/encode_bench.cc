// The speed of encoding chunks on one thread, and the size of the result.
//
//   framefs_encode_bench FILE TYPESIZE [CODEC [LEVEL [FILTER]]]
//
// Encodes FILE in chunks of 4 MiB with every codec, level and filter (0 none, 1 shuffle, 2
// bitshuffle).  Prints one line for each: codec, level, filter, MB/s of the best round, stored
// bytes.  tests/bench/encode_reference.c prints the same for the reference library;
// tests/bench/compare_encode runs both in turn.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "tests/support/bytes.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kChunkBytes = 4u << 20;

// CPU time of this thread in seconds, so that other work on the machine counts less.
double now() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::size_t encode_all(ChunkEncoder& encoder, const EncodeParams& params,
                       std::span<const std::byte> plain, std::span<std::byte> out) {
  std::size_t stored = 0;
  for (std::size_t at = 0; at < plain.size(); at += kChunkBytes) {
    const auto chunk = plain.subspan(at, std::min(kChunkBytes, plain.size() - at));
    const auto size = encoder.encode(params, chunk, out);
    if (!size) std::abort();
    stored += *size;
  }
  return stored;
}

void measure(const EncodeParams& params, int filter, std::span<const std::byte> plain) {
  constexpr double kMinSeconds = 0.3;
  ChunkEncoder encoder;
  std::vector<std::byte> out(ChunkPlan::max_bytes(kChunkBytes));
  const auto stored = encode_all(encoder, params, plain, out);
  double best = 0;
  const double begin = now();
  do {
    const double start = now();
    encode_all(encoder, params, plain, out);
    best = std::max(best, static_cast<double>(plain.size()) / (now() - start) / 1e6);
  } while (now() - begin < kMinSeconds);
  std::printf("%s %d %d %.1f %zu\n", codec_name(params.codec), params.clevel, filter, best, stored);
  std::fflush(stdout);
}

}  // namespace
}  // namespace framefs::codec

int main(int argc, char** argv) {
  using namespace framefs::codec;
  const std::vector<std::string> arguments(argv, argv + argc);
  if (argc < 3) return 2;
  std::ifstream file(arguments[1], std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const auto plain = std::as_bytes(std::span(content));
  const auto asked = [&](std::size_t at, const std::string& value) {
    return arguments.size() <= at || arguments[at] == value;
  };
  for (const auto codec :
       {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib, CodecId::zstd}) {
    for (const int level : {1, 3, 5, 7, 9}) {
      for (const int filter : {0, 1, 2}) {
        if (!asked(3, codec_name(codec)) || !asked(4, std::to_string(level)) ||
            !asked(5, std::to_string(filter))) {
          continue;
        }
        EncodeParams params{.codec = codec, .clevel = level};
        params.typesize = static_cast<std::uint32_t>(std::stoul(arguments[2]));
        params.filters[5].id = static_cast<std::uint8_t>(filter);
        measure(params, filter, plain);
      }
    }
  }
  return 0;
}

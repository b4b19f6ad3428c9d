#include "fs/write/commit/write_steps.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"

namespace framefs::fs::write_steps_test {
namespace {

TEST_CASE("write_steps: all steps together are the write, and each touches few chunks",
          "[fs][write][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto bytes = test::noise(50'000, 1);
  for (const std::uint64_t chunksize : {1u, 3u, 16u, 4096u, 1u << 20}) {
    CAPTURE(chunksize);
    std::vector<WritePiece> pieces;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto size = std::min<std::size_t>(random() % 20'000, bytes.size() - at);
      pieces.push_back({random() % 100'000, std::span(bytes).subspan(at, size)});
      at += size;
    }
    WriteSteps steps(pieces, chunksize);
    std::vector<std::byte> written;
    for (auto step = steps.next(); !step.empty(); step = steps.next()) {
      std::set<std::uint64_t> chunks;
      for (const auto& [offset, part] : step) {
        for (std::size_t i = 0; i < part.size(); ++i) chunks.insert((offset + i) / chunksize);
        // The place of the part's first byte within its piece gives the offset to expect.
        const auto at = static_cast<std::size_t>(part.data() - bytes.data());
        for (const auto& piece : pieces) {
          const auto begin = static_cast<std::size_t>(piece.bytes.data() - bytes.data());
          if (piece.bytes.empty() || at < begin || at >= begin + piece.bytes.size()) continue;
          REQUIRE(offset == piece.offset + (at - begin));
        }
        written.insert(written.end(), part.begin(), part.end());
      }
      REQUIRE(chunks.size() <= WriteSteps::kMaxChunks);
    }
    CHECK(written == bytes);
  }
}

}  // namespace
}  // namespace framefs::fs::write_steps_test

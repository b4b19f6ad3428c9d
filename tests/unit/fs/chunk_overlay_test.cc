#include "fs/write/overlay/chunk_overlay.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "codec/frame/frame_index.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::fs::chunk_overlay_test {
namespace {

using test::Bytes;

constexpr std::uint32_t kChunk = 64;
const std::int64_t kZeroEntry = codec::index_code(codec::Special::zero);

// An overlay above stored chunks that lie in memory, and the content that it should show.
class Model {
 public:
  explicit Model(std::uint32_t seed)
      : random_(seed),
        overlay_(budget_, OverlayBudget::Index(budget_), kChunk, 0, {}, ContentId{1}) {}

  void step() {
    switch (pick(12)) {
      case 0:
        if (frozen_.empty()) truncate();
        break;
      case 1:
        if (frozen_.empty()) zero();
        break;
      case 2:
        extend();
        break;
      case 3:
        freeze();
        break;
      case 4:
      case 5:
        end_store();
        break;
      default:
        write();
    }
    check();
  }

  void end() {
    while (!frozen_.empty()) end_store();
    for (auto& chunk : overlay_.freeze(0, SIZE_MAX, SIZE_MAX)) land(chunk);
    check();
    REQUIRE_FALSE(overlay_.has_full_chunks());
  }

 private:
  static constexpr std::uint64_t kMax = 12 * kChunk;
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void write() {
    const auto offset = pick(std::min<std::uint64_t>(kMax, plain_.size() + 2 * kChunk));
    Bytes bytes(1 + pick(2 * kChunk));
    for (auto& byte : bytes) byte = std::byte(1 + pick(255));
    overlay_.write(offset, bytes);
    plain_.resize(std::max<std::size_t>(plain_.size(), offset + bytes.size()));
    std::ranges::copy(bytes, plain_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  void extend() {
    const auto size = pick(kMax);
    overlay_.extend(size);
    plain_.resize(std::max<std::size_t>(plain_.size(), size));
  }

  void drop(const std::vector<std::int64_t>& entries) {
    for (const auto entry : entries) REQUIRE(stored_.erase(entry) == 1);
  }

  void truncate() {
    const auto size = pick(5) == 0 ? 0 : pick(kMax);
    drop(overlay_.truncate(size));
    plain_.resize(size);
  }

  void zero() {
    if (plain_.empty()) return;
    const auto offset = pick(plain_.size());
    const auto size = 1 + pick(std::min<std::uint64_t>(plain_.size() - offset, 3 * kChunk));
    drop(overlay_.zero(offset, size));
    std::fill_n(plain_.begin() + static_cast<std::ptrdiff_t>(offset), size, std::byte{0});
  }

  void freeze() {
    if (!frozen_.empty()) return;
    const auto most_bytes = (1 + pick(4)) * kChunk;
    const bool only_full = pick(2) == 0;
    const auto first = pick(4);
    const auto end = first + pick(8);
    bool has_some = overlay_.has_full_chunks();
    if (!only_full) {
      has_some = false;
      for (auto chunk = first; chunk < std::min(end, overlay_.chunk_count()); ++chunk) {
        has_some = has_some || overlay_.layers(chunk).dirty != nullptr;
      }
    }
    frozen_ =
        only_full ? overlay_.freeze_full(most_bytes) : overlay_.freeze(first, end, most_bytes);
    REQUIRE(frozen_.empty() != has_some);
    std::set<std::uint64_t> chunks;
    for (const auto& chunk : frozen_) {
      REQUIRE(chunks.insert(chunk.chunk).second);
      REQUIRE((only_full || (chunk.chunk >= first && chunk.chunk < end)));
      if (only_full) REQUIRE(chunk.bytes->written().covers(0, chunk.nbytes));
    }
  }

  // The bytes of a stored chunk, with zeros behind its stored end.
  [[nodiscard]] Bytes stored(std::uint64_t chunk) const {
    Bytes bytes;
    const auto entry = overlay_.entry(chunk);
    if (entry != kZeroEntry) bytes = stored_.at(entry);
    bytes.resize(kChunk);
    return bytes;
  }

  // Puts the bytes of a layer above those of the layer below.
  static void cover(Bytes& below, const DirtyChunk& layer) {
    std::fill(below.begin() + std::min<std::ptrdiff_t>(layer.base_bytes(), kChunk), below.end(),
              std::byte{0});
    for (const auto& [begin, end] : layer.written().all()) {
      layer.read(begin, std::span(below).subspan(begin, end - begin));
    }
  }

  void land(const ChunkOverlay::Frozen& frozen) {
    auto bytes = stored(frozen.chunk);
    cover(bytes, *frozen.bytes);
    bytes.resize(frozen.nbytes);
    const auto entry = next_entry_++;
    stored_[entry] = std::move(bytes);
    const auto old =
        overlay_.land(frozen.chunk, entry, ContentId{static_cast<std::uint64_t>(entry)});
    if (old >= 0) drop({old});
  }

  // Ends the store of one frozen chunk: it succeeds or fails.
  void end_store() {
    if (frozen_.empty()) return;
    const auto frozen = std::move(frozen_.back());
    frozen_.pop_back();
    if (pick(3) == 0) {
      overlay_.thaw(frozen);
    } else {
      land(frozen);
    }
  }

  void check() {
    REQUIRE(overlay_.nbytes() == plain_.size());
    REQUIRE(overlay_.chunk_count() == (plain_.size() + kChunk - 1) / kChunk);
    for (std::uint64_t chunk = 0; chunk < overlay_.chunk_count(); ++chunk) {
      auto bytes = stored(chunk);
      const auto layers = overlay_.layers(chunk);
      if (layers.frozen != nullptr) cover(bytes, *layers.frozen);
      if (layers.dirty != nullptr) cover(bytes, *layers.dirty);
      bytes.resize(overlay_.chunk_bytes(chunk));
      const auto begin = plain_.begin() + static_cast<std::ptrdiff_t>(chunk * kChunk);
      CAPTURE(chunk);
      REQUIRE(std::equal(bytes.begin(), bytes.end(), begin));
    }
  }

  std::mt19937_64 random_;
  OverlayBudget budget_{1u << 20};
  ChunkOverlay overlay_;
  std::vector<ChunkOverlay::Frozen> frozen_;
  std::map<std::int64_t, Bytes> stored_;  // by index entry
  std::int64_t next_entry_ = 100;
  Bytes plain_;
};

TEST_CASE("chunk_overlay: it shows the written bytes, whatever is being stored",
          "[fs][write][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  for (std::uint32_t run = 0; run < 30; ++run) {
    Model model(seed + run);
    for (int step = 0; step < 400; ++step) model.step();
    model.end();
  }
}

TEST_CASE("chunk_overlay: a commit that fails leaves the frame changed", "[fs][write][unit]") {
  OverlayBudget budget(1u << 20);
  ChunkOverlay overlay(budget, OverlayBudget::Index(budget), kChunk, 0, {}, ContentId{1});
  CHECK(overlay.is_committed());
  overlay.write(0, Bytes(10));
  overlay.begin_commit();
  CHECK_FALSE(overlay.is_changed());
  CHECK_FALSE(overlay.is_committed());
  overlay.end_commit(false);
  CHECK(overlay.is_changed());
  overlay.begin_commit();
  overlay.end_commit(true);
  CHECK(overlay.is_committed());
}

TEST_CASE("chunk_overlay: abandoned bytes give their memory back, also when they thaw",
          "[fs][write][unit]") {
  OverlayBudget budget(1);
  ChunkOverlay overlay(budget, OverlayBudget::Index(budget), kChunk, 0, {}, ContentId{1});
  overlay.write(0, Bytes(3 * kChunk));
  auto frozen = overlay.freeze_full(1);
  REQUIRE(frozen.size() == 1);
  CHECK(budget.used() > 0);
  overlay.abandon();
  overlay.thaw(frozen[0]);
  frozen.clear();
  CHECK(budget.used() == 0);
}

}  // namespace
}  // namespace framefs::fs::chunk_overlay_test

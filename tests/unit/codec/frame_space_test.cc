#include "codec/frame/frame_space.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::codec::frame_space_test {
namespace {

// The rule of two commits, applied to each unit on its own.
class UnitModel {
 public:
  enum class Unit : std::uint8_t { free, live, retired, dead };

  explicit UnitModel(std::uint64_t end) : units_(end, Unit::live) {}

  void allocate(std::uint64_t at, std::uint64_t size) {
    grow(at + size);
    for (auto unit = at; unit < at + size; ++unit) {
      REQUIRE(units_[unit] == Unit::free);
      units_[unit] = Unit::live;
    }
  }
  void set(ByteRange range, Unit unit) {
    grow(range.offset + range.size);
    std::fill_n(units_.begin() + static_cast<std::ptrdiff_t>(range.offset), range.size, unit);
    cut();
  }
  void commit() {
    for (auto& unit : units_) {
      if (unit == Unit::dead) unit = Unit::free;
      if (unit == Unit::retired) unit = Unit::dead;
    }
    cut();
  }

  [[nodiscard]] std::uint64_t end() const { return units_.size(); }
  [[nodiscard]] std::uint64_t unused() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(units_, [](Unit unit) { return unit != Unit::live; }));
  }
  // The size of each hole, by its start.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> holes() const {
    std::map<std::uint64_t, std::uint64_t> found;
    for (std::uint64_t at = 0; at < units_.size(); ++at) {
      if (units_[at] != Unit::free) continue;
      const auto begin = at;
      while (at < units_.size() && units_[at] == Unit::free) ++at;
      found.emplace(begin, at - begin);
    }
    return found;
  }

 private:
  void grow(std::uint64_t end) {
    if (end > units_.size()) units_.resize(end, Unit::free);
  }
  void cut() {
    while (!units_.empty() && units_.back() == Unit::free) units_.pop_back();
  }

  std::vector<Unit> units_;
};

// A FrameSpace beside its model.  Random operations are applied to both.
class Pair {
 public:
  explicit Pair(std::uint32_t seed) : random_(seed), space_(kBegin), model_(kBegin) {}

  void step() {
    switch (pick(10)) {
      case 0:
        commit();
        break;
      case 1:
      case 2:
        retire();
        break;
      case 3:
        take_back();
        break;
      case 4:
        allocate_from();
        break;
      case 5:
        append();
        break;
      case 6:
        if (pick(8) == 0) raise_end();
        break;
      default:
        allocate();
    }
    REQUIRE(space_.end() == model_.end());
    REQUIRE(space_.dead_bytes() == model_.unused());
  }

 private:
  static constexpr std::uint64_t kBegin = 10;  // never retired: a frame's header
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void add(std::vector<ByteRange>& to, std::uint64_t at, std::uint64_t size) {
    model_.allocate(at, size);
    to.push_back({at, size});
  }

  void allocate() {
    const auto size = 1 + pick(12);
    std::optional<std::uint64_t> best;
    for (const auto& [at, room] : model_.holes()) {
      if (room >= size && room < best.value_or(UINT64_MAX)) best = room;
    }
    const auto holes = model_.holes();
    const auto at = space_.allocate(size);
    const auto hole = holes.find(at);
    if (best) {
      REQUIRE(hole != holes.end());
      REQUIRE(hole->second == *best);
    } else {
      REQUIRE(at == model_.end());
    }
    add(fresh_, at, size);
  }

  void allocate_from() {
    const auto from = pick(model_.end() + 1);
    const auto size = 1 + pick(12);
    auto expected = model_.end();
    for (const auto& [at, room] : model_.holes()) {
      const auto begin = std::max(at, from);
      if (begin + size > at + room) continue;
      expected = begin;
      break;
    }
    const auto at = space_.allocate_from(from, size);
    REQUIRE(at == expected);
    add(fresh_, at, size);
  }

  void append() {
    const auto size = 1 + pick(12);
    const auto at = space_.append(size);
    REQUIRE(at == model_.end());
    add(fresh_, at, size);
  }

  void raise_end() {
    const auto before = model_.end();
    const auto at = before + pick(20);
    space_.raise_end(at);
    if (at > before) model_.set({before, at - before}, UnitModel::Unit::dead);
  }

  std::optional<ByteRange> take_one(std::vector<ByteRange>& from) {
    if (from.empty()) return std::nullopt;
    std::swap(from[pick(from.size())], from.back());
    const auto range = from.back();
    from.pop_back();
    return range;
  }

  void take_back() {
    const auto range = take_one(fresh_);
    if (!range) return;
    space_.take_back(*range);
    model_.set(*range, UnitModel::Unit::free);
  }

  void retire() {
    const auto range = take_one(committed_);
    if (!range) return;
    space_.retire(*range);
    model_.set(*range, UnitModel::Unit::retired);
  }

  void commit() {
    space_.commit();
    model_.commit();
    committed_.insert(committed_.end(), fresh_.begin(), fresh_.end());
    fresh_.clear();
  }

  std::mt19937_64 random_;
  FrameSpace space_;
  UnitModel model_;
  std::vector<ByteRange> fresh_;      // allocated since the last commit
  std::vector<ByteRange> committed_;  // the committed state refers to them
};

TEST_CASE("frame_space: every unit follows the rule of two commits", "[codec][frame_space][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  for (std::uint32_t run = 0; run < 20; ++run) {
    Pair pair(seed + run);
    for (int step = 0; step < 1500; ++step) pair.step();
  }
}

// A committed state of a chunk and a tail, of which the next state does not use the chunk.
struct RetiredChunk {
  RetiredChunk() : space(0), chunk(space.allocate(100)), tail(space.allocate(10)) {
    space.commit();
    space.retire({chunk, 100});
  }
  FrameSpace space;
  std::uint64_t chunk;
  std::uint64_t tail;
};

TEST_CASE("frame_space: ranges that follow each other are one range",
          "[codec][frame_space][unit]") {
  std::vector<ByteRange> ranges;
  append_range(ranges, {100, 10});
  append_range(ranges, {110, 5});
  append_range(ranges, {116, 4});
  append_range(ranges, {90, 10});
  append_range(ranges, {100, 10});
  CHECK(ranges == std::vector<ByteRange>{{100, 15}, {116, 4}, {90, 20}});
}

TEST_CASE("frame_space: a retired range is allocated again after two commits",
          "[codec][frame_space][unit]") {
  auto [space, chunk, tail] = RetiredChunk();
  CHECK(space.allocate(100) == tail + 10);
  space.commit();  // readers may still use the state before this commit
  CHECK(space.allocate(100) == tail + 110);
  space.commit();
  CHECK(space.allocate(100) == chunk);
}

TEST_CASE("frame_space: retired ranges that are kept outlive a commit",
          "[codec][frame_space][unit]") {
  auto [space, chunk, tail] = RetiredChunk();
  const auto kept = space.take_retired();
  REQUIRE(kept.size() == 1);
  space.commit();
  space.commit();
  CHECK(space.allocate(100) == tail + 10);
}

TEST_CASE("frame_space: ranges that overlap or repeat are freed once",
          "[codec][frame_space][unit]") {
  FrameSpace space(1000);
  for (const auto& range : {ByteRange{100, 50}, {100, 50}, {120, 100}, {90, 20}, {140, 5}}) {
    space.retire(range);
  }
  space.commit();
  space.commit();
  CHECK(space.dead_bytes() == 130);
  CHECK(space.allocate(130) == 90);
  CHECK(space.allocate(1) == 1000);
  // Up to the end, twice.
  space.retire({950, 51});
  space.retire({900, 101});
  space.retire({950, 51});
  space.commit();
  space.commit();
  CHECK(space.end() == 900);
}

}  // namespace
}  // namespace framefs::codec::frame_space_test

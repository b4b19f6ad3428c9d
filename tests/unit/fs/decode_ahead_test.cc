#include "fs/view/decode_ahead.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::decode_ahead_test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kCacheBytes = 256 * kMiB;

// Records which ranges are decoded, and on which threads.
class NotingView final : public View {
 public:
  explicit NotingView(std::uint64_t size) : size_(size) {}

  [[nodiscard]] bool is_readable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t decoded_bytes() const noexcept override { return size_; }
  Result<ReadResult> read(std::uint64_t, std::uint64_t, Access) const override {
    return ReadResult{};
  }
  [[nodiscard]] bool decode_ahead(ByteRange range) const override {
    const auto self = static_cast<id_t>(::gettid());
    const int nice = ::getpriority(PRIO_PROCESS, self);
    noted_.with([&](Noted& noted) {
      noted.ranges.push_back(range);
      noted.least_nice = std::min(noted.least_nice, nice);
    });
    if (fails) throw std::bad_alloc();
    return range.offset + range.size < size_;
  }
  Result<std::uint64_t> seek(Seek, std::uint64_t) const override { return 0; }

  // Sorted by offset.
  [[nodiscard]] std::vector<ByteRange> ranges() const {
    auto all = noted_.with([](const Noted& noted) { return noted.ranges; });
    std::ranges::sort(all, {}, &ByteRange::offset);
    return all;
  }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& range : ranges()) sum += range.size;
    return sum;
  }
  [[nodiscard]] int least_nice() const {
    return noted_.with([](const Noted& noted) { return noted.least_nice; });
  }

  bool fails = false;

 private:
  struct Noted {
    std::vector<ByteRange> ranges;
    int least_nice = 1000;
  };
  const std::uint64_t size_;
  mutable Guarded<Noted> noted_;
};

void read_in_order(DecodeAhead& ahead, const std::shared_ptr<ReadPattern>& pattern,
                   const std::shared_ptr<const View>& view, std::uint64_t begin,
                   std::uint64_t end) {
  for (auto at = begin; at < end; at += kMiB) {
    pattern->note(at, kMiB);
    ahead.follow(pattern, view);
  }
}

TEST_CASE("decode_ahead: the range after a stretch is decoded once, and the view is released",
          "[fs][decode_ahead][race]") {
  const auto view = std::make_shared<NotingView>(100 * kMiB);
  DecodeAhead ahead(2, kCacheBytes);
  const auto pattern = ahead.new_pattern();
  read_in_order(ahead, pattern, view, 0, 4 * kMiB);
  CHECK(view.use_count() == 1);
  read_in_order(ahead, pattern, view, 4 * kMiB, 5 * kMiB);
  CHECK(test::comes_true([&] { return view.use_count() == 1; }));
  CHECK(view->bytes() == 8 * kMiB);
  auto next = 5 * kMiB;
  for (const auto& range : view->ranges()) {
    CHECK(range.offset == next);
    next += range.size;
  }
  // Read-ahead threads have a lower priority than threads whose readers wait.
  CHECK(view->least_nice() > ::getpriority(PRIO_PROCESS, 0));
}

TEST_CASE("decode_ahead: at the end of a file it ends", "[fs][decode_ahead][race]") {
  const auto view = std::make_shared<NotingView>(6 * kMiB);
  DecodeAhead ahead(1, kCacheBytes);
  const auto pattern = ahead.new_pattern();
  read_in_order(ahead, pattern, view, 0, 5 * kMiB);
  CHECK(test::comes_true([&] { return view.use_count() == 1; }));
  CHECK(view->bytes() == kMiB);
}

TEST_CASE("decode_ahead: all streams get their turns", "[fs][decode_ahead][race]") {
  std::vector<std::shared_ptr<NotingView>> views;
  for (int i = 0; i < 3; ++i) views.push_back(std::make_shared<NotingView>(100 * kMiB));
  DecodeAhead ahead(2, kCacheBytes);
  std::vector<std::shared_ptr<ReadPattern>> patterns;
  for (std::size_t i = 0; i < views.size(); ++i) patterns.push_back(ahead.new_pattern());
  // If too many views wait, a view that comes again is accepted.
  const auto all_done = [&] {
    for (std::size_t i = 0; i < views.size(); ++i) ahead.follow(patterns[i], views[i]);
    return std::ranges::all_of(views, [](const auto& view) { return view->bytes() == 8 * kMiB; });
  };
  for (std::size_t i = 0; i < views.size(); ++i) {
    read_in_order(ahead, patterns[i], views[i], 0, 5 * kMiB);
  }
  CHECK(test::comes_true(all_done));
}

TEST_CASE("decode_ahead: want of memory ends a stream, not the process",
          "[fs][decode_ahead][race]") {
  const auto view = std::make_shared<NotingView>(100 * kMiB);
  view->fails = true;
  DecodeAhead ahead(1, kCacheBytes);
  const auto pattern = ahead.new_pattern();
  read_in_order(ahead, pattern, view, 0, 5 * kMiB);
  CHECK(test::comes_true([&] { return view.use_count() == 1; }));
  CHECK_FALSE(view->ranges().empty());
  CHECK(view->bytes() < 8 * kMiB);
}

TEST_CASE("decode_ahead: it can end in the middle of a stream, and patterns outlive it",
          "[fs][decode_ahead][race]") {
  const auto view = std::make_shared<NotingView>(100 * kMiB);
  std::shared_ptr<ReadPattern> pattern;
  {
    DecodeAhead ahead(2, kCacheBytes);
    pattern = ahead.new_pattern();
    read_in_order(ahead, pattern, view, 0, 40 * kMiB);
  }
  CHECK(view.use_count() == 1);
  pattern->note(40 * kMiB, kMiB);
}

}  // namespace
}  // namespace framefs::fs::decode_ahead_test

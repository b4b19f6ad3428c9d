#include "fs/tree/content/page_pusher.h"

#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/test_mount.h"

namespace framefs::fs::page_pusher_test {
namespace {

constexpr std::uint64_t kPage = 64u << 10;  // the largest page of the architectures of Linux

// The requests of the pusher to the kernel, in their order.
class Events {
 public:
  void add(const std::string& event) {
    events_.with_and_wake([&](auto& events) { events.push_back(event); });
  }
  [[nodiscard]] std::vector<std::string> all() const {
    return events_.with([](const auto& events) { return events; });
  }
  // Waits until there are at least `count`; returns whether they came in time.
  bool wait_for(std::size_t count) {
    return events_.wait_until(
        std::chrono::steady_clock::now() + test::kHangs,
        [&](const auto& events) { return events.size() >= count; },
        [&](const auto& events) { return events.size() >= count; });
  }

 private:
  Guarded<std::vector<std::string>> events_;
};

std::string event(const char* what, std::uint64_t offset, std::uint64_t size) {
  return std::string(what) + " " + std::to_string(offset) + " " + std::to_string(size);
}

// A pusher without a filesystem, two files, and a kernel that notes what it is asked.
struct Pushing {
  explicit Pushing(PagePusher::IsCurrent is_current)
      : pusher(std::move(is_current), kPage, test::kHangs) {}

  void start() {
    pusher.start({.store =
                      [this](NodeId, std::uint64_t offset, std::span<const std::byte> bytes) {
                        during_store();
                        events.add(event("store", offset, bytes.size()));
                      },
                  .drop = [this](NodeId, std::uint64_t offset,
                                 std::uint64_t size) { events.add(event("drop", offset, size)); }});
  }
  // Offers a block that is in the cache.
  void offer_block(std::uint64_t offset, std::size_t size, const CacheKey& key) {
    auto bytes = std::make_shared<const Bytes>(buffers, size);
    auto claim = cache.claim(key, size);
    if (claim.ours) claim.ours->publish(bytes, size);
    pusher.offer(file, {.key = key, .offset = offset, .bytes = bytes, .cache = &cache});
  }
  void offer(std::uint64_t offset, std::size_t size, ContentId content = {1}) {
    offer_block(offset, size, {.content = content, .chunk = offset});
  }
  static std::shared_ptr<const OpenFile> open(std::uint64_t inode) {
    const NodeKey key{1, inode, ShownAs::frame};
    auto source = BackingFile::adopt(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    REQUIRE(source);
    return std::make_shared<const OpenFile>(std::make_shared<Node>(inode, key), std::move(*source),
                                            nullptr);
  }

  BufferPool buffers{0};
  DecodeCache cache{64u << 20};
  Events events;
  std::function<void()> during_store = [] {};
  const std::shared_ptr<const OpenFile> file = open(7);
  PagePusher pusher;
};

bool is_always_current(const OpenFile&, ContentId) { return true; }

TEST_CASE("page_pusher: the whole pages of a block are stored", "[fs][page_pusher][unit]") {
  Pushing pushing(is_always_current);
  pushing.start();
  pushing.offer(2 * kPage, 3 * kPage);
  pushing.offer(1000, 5 * kPage);   // the pages from 1 to 4
  pushing.offer(1, 2 * kPage - 2);  // no whole page
  pushing.offer(kPage + 1, kPage);  // no whole page
  pushing.offer(0, kPage);
  REQUIRE(pushing.events.wait_for(3));
  pushing.pusher.stop();
  CHECK(pushing.events.all() == std::vector{event("store", 2 * kPage, 3 * kPage),
                                            event("store", kPage, 4 * kPage),
                                            event("store", 0, kPage)});
  CHECK(pushing.pusher.pushed_bytes() == 8 * kPage);
}

TEST_CASE("page_pusher: a block of another content is not stored", "[fs][page_pusher][unit]") {
  Pushing pushing([](const OpenFile&, ContentId content) { return content.value == 2; });
  pushing.start();
  pushing.offer(0, kPage, {1});
  pushing.offer(kPage, kPage, {2});
  REQUIRE(pushing.events.wait_for(1));
  pushing.pusher.stop();
  CHECK(pushing.events.all() == std::vector{event("store", kPage, kPage)});
}

TEST_CASE("page_pusher: a block leaves the cache when the kernel has all of its bytes",
          "[fs][page_pusher][unit]") {
  const CacheKey whole{.content = {1}, .chunk = 1};
  const CacheKey odd{.content = {1}, .chunk = 2};    // its ends are in pages of other blocks
  const CacheKey other{.content = {2}, .chunk = 3};  // not the current content
  const CacheKey known{.content = {1}, .chunk = 4};  // was stored lately
  const CacheKey lost{.content = {1}, .chunk = 5};   // is stored again
  Pushing pushing([](const OpenFile&, ContentId content) { return content.value == 1; });
  pushing.start();
  pushing.offer(0, kPage);
  pushing.offer_block(0, kPage, known);
  for (std::uint32_t i = 2; i < RecentStores::kOffersPerStore; ++i) pushing.offer(0, kPage);
  pushing.offer_block(0, kPage, lost);
  pushing.offer_block(kPage, kPage, other);
  pushing.offer_block(3 * kPage - 1, 4 * kPage, odd);
  pushing.offer_block(9 * kPage, kPage, whole);
  REQUIRE(pushing.events.wait_for(4));
  pushing.pusher.stop();
  CHECK_FALSE(pushing.cache.knows(whole));
  CHECK(pushing.cache.knows(odd));
  CHECK(pushing.cache.knows(other));
  CHECK(pushing.cache.knows(known));
  CHECK(pushing.cache.knows(lost));
}

TEST_CASE("page_pusher: a block whose content was not settled is stored at its next offer",
          "[fs][page_pusher][unit]") {
  std::atomic<int> questions = 0;
  Pushing pushing([&](const OpenFile&, ContentId) { return ++questions > 1; });
  pushing.start();
  pushing.offer(0, kPage);
  while (questions == 0) std::this_thread::yield();
  pushing.pusher.drain({1, 7});
  pushing.offer(0, kPage);
  REQUIRE(pushing.events.wait_for(1));
}

TEST_CASE("page_pusher: pages are dropped if the content changes while they are stored",
          "[fs][page_pusher][unit]") {
  std::atomic<bool> has_changed = false;
  Pushing pushing([&](const OpenFile&, ContentId) { return !has_changed; });
  pushing.during_store = [&] { has_changed = true; };
  pushing.start();
  pushing.offer(kPage, 2 * kPage);
  REQUIRE(pushing.events.wait_for(2));
  CHECK(pushing.events.all() ==
        std::vector{event("store", kPage, 2 * kPage), event("drop", kPage, 2 * kPage)});
  pushing.pusher.stop();
  CHECK(pushing.cache.knows({.content = {1}, .chunk = kPage}));
}

TEST_CASE("page_pusher: waiting blocks have a limit, and so has each", "[fs][page_pusher][unit]") {
  constexpr std::size_t kMiB = 1u << 20;
  std::promise<void> held;
  auto release = held.get_future().share();
  std::promise<void> begun;
  Pushing pushing(is_always_current);
  pushing.during_store = [&, is_first = true]() mutable {
    if (std::exchange(is_first, false)) begun.set_value();
    release.wait();
  };
  pushing.start();
  pushing.offer(0, kMiB);
  begun.get_future().wait();
  pushing.offer(0, kMiB + kPage);
  for (std::size_t i = 1; i <= 9; ++i) pushing.offer(i * kMiB, kMiB);
  held.set_value();
  REQUIRE(pushing.events.wait_for(5));
  pushing.pusher.stop();
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i <= 4; ++i) wanted.push_back(event("store", i * kMiB, kMiB));
  CHECK(pushing.events.all() == wanted);
}

TEST_CASE("page_pusher: a block that was stored lately is stored again at some later offer",
          "[fs][page_pusher][unit]") {
  Pushing pushing(is_always_current);
  pushing.start();
  for (std::uint32_t i = 0; i < RecentStores::kOffersPerStore; ++i) pushing.offer(0, kPage);
  pushing.offer(kPage, kPage);
  pushing.offer(0, kPage);
  pushing.offer(0, 2 * kPage, {2});  // another content
  REQUIRE(pushing.events.wait_for(4));
  pushing.pusher.stop();
  CHECK(pushing.events.all() == std::vector{event("store", 0, kPage), event("store", kPage, kPage),
                                            event("store", 0, kPage),
                                            event("store", 0, 2 * kPage)});
}

TEST_CASE("page_pusher: nothing is stored before the start and after the end",
          "[fs][page_pusher][unit]") {
  Pushing pushing(is_always_current);
  pushing.offer(0, kPage);
  pushing.start();
  pushing.pusher.stop();
  pushing.offer(kPage, kPage);
  CHECK(pushing.events.all().empty());
}

TEST_CASE("page_pusher: drain waits for the store of its file alone", "[fs][page_pusher][race]") {
  test::finish_in_time("drain", [] {
    std::promise<void> begun;
    std::promise<void> held;
    Pushing pushing(is_always_current);
    pushing.during_store = [&] {
      begun.set_value();
      held.get_future().wait();
    };
    pushing.start();
    pushing.offer(0, kPage);
    begun.get_future().wait();
    pushing.pusher.drain({1, 8});  // another file
    const bool is_other_first = pushing.events.all().empty();
    std::promise<void> calling;
    auto drained = std::async(std::launch::async, [&] {
      calling.set_value();
      pushing.pusher.drain({1, 7});
      return pushing.events.all().size();
    });
    calling.get_future().wait();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    held.set_value();
    CHECK(is_other_first);
    CHECK(drained.get() == 1);
  });
}

// A frame whose blocks hold whole pages.
test::Bytes paged_frame(std::uint32_t seed) {
  test::FrameSpec spec;
  spec.typesize = 4;
  spec.chunksize = 16 * kPage;
  test::ChunkSpec chunk;
  chunk.typesize = 4;
  chunk.blocksize = 4 * kPage;
  chunk.filters = {test::Filter::shuffle};
  spec.chunks.push_back(test::stored_chunk(test::ramp(16 * kPage, 4, seed), chunk));
  return test::build_frame(spec).bytes;
}

// A mount, a reader of one block of a frame in it, and a kernel that notes what it is asked.
class HotFrame {
 public:
  HotFrame() : mount(options()) {
    mount.write("x.b2frame", paged_frame(1));
    id = mount.lookup("x").id;
    file = std::move(mount.open(id).file);
    mount.fs().pages().start(
        {.store =
             [this](NodeId node, std::uint64_t offset, std::span<const std::byte> bytes) {
               during_store();
               events.add(event("store", offset, bytes.size()));
               stored.assign(bytes.begin(), bytes.end());
               is_right_node = node == id;
             },
         .drop = [this](NodeId, std::uint64_t offset,
                        std::uint64_t size) { events.add(event("drop", offset, size)); }});
  }
  HotFrame(const HotFrame&) = delete;
  HotFrame& operator=(const HotFrame&) = delete;
  ~HotFrame() {
    mount.fs().pages().stop();
    mount.fs().contents().close(*file);
  }
  // Reads parts of the second block until `count` events are noted.
  bool read_until(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + test::kHangs;
    while (events.all().size() < count && std::chrono::steady_clock::now() < end) {
      auto got = mount.fs().contents().read(*file, 5 * kPage, kPage);
      if (got && got->hot) mount.fs().pages().offer(file, std::move(*got->hot));
    }
    return events.all().size() >= count;
  }

  Mount mount;
  NodeId id = 0;
  std::shared_ptr<OpenFile> file;
  Events events;
  std::function<void()> during_store = [] {};
  test::Bytes stored;
  bool is_right_node = false;

 private:
  static MountOptions options() {
    MountOptions options;
    options.attr_timeout_ms = 0;
    return options;
  }
};

// Oracle: the data.
TEST_CASE("filesystem: a block that is read again goes to the kernel, once its file is settled",
          "[fs][page_pusher][unit]") {
  HotFrame hot;
  REQUIRE(hot.read_until(1));
  hot.mount.fs().pages().stop();
  CHECK(hot.events.all().front() == event("store", 4 * kPage, 4 * kPage));
  CHECK(hot.is_right_node);
  const auto all = test::ramp(16 * kPage, 4, 1);
  CHECK(std::ranges::equal(hot.stored, std::span(all).subspan(4 * kPage, 4 * kPage)));
}

TEST_CASE("filesystem: opening for writing ends after the pages of earlier content are dropped",
          "[fs][page_pusher][race]") {
  HotFrame hot;
  std::future<void> opened;
  std::atomic<bool> is_first = true;
  hot.during_store = [&] {
    if (!is_first.exchange(false)) return;
    opened = std::async(std::launch::async, [&] {
      const auto writer = hot.mount.fs().contents().open(hot.id, O_RDWR);
      hot.events.add(writer ? "opened" : "not opened");
      if (writer) hot.mount.fs().contents().close(*writer->file);
    });
    while (!hot.mount.fs().is_being_written(hot.id)) std::this_thread::yield();
  };
  REQUIRE(hot.read_until(1));
  REQUIRE(hot.events.wait_for(3));
  opened.get();
  const auto events = hot.events.all();
  CHECK(events[0] == event("store", 4 * kPage, 4 * kPage));
  CHECK(events[1] == event("drop", 4 * kPage, 4 * kPage));
  CHECK(events[2] == "opened");
}

TEST_CASE("filesystem: pages of a frame that changes in SOURCE meanwhile are dropped",
          "[fs][page_pusher][race]") {
  HotFrame hot;
  std::atomic<bool> is_first = true;
  hot.during_store = [&] {
    if (is_first.exchange(false)) hot.mount.touch("x.b2frame");
  };
  REQUIRE(hot.read_until(2));
  const auto events = hot.events.all();
  CHECK(events[0] == event("store", 4 * kPage, 4 * kPage));
  CHECK(events[1] == event("drop", 4 * kPage, 4 * kPage));
}

}  // namespace
}  // namespace framefs::fs::page_pusher_test

#include "fs/net/cache/disk_cache.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::net::disk_cache_test {
namespace {

namespace files = std::filesystem;

constexpr ContentKey kKey{1, 2};

Part part_of(std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> bytes(size);
  // The byte at an offset depends on the offset alone, so any part of any part can be checked.
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((offset + i) * 2654435761U >> 16);
  }
  return {offset, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

bool is_right(const Part& part) {
  return *part.bytes == *part_of(part.offset, part.bytes->size()).bytes;
}

// The number of bytes of `range` that the cache returns; UINT64_MAX if one of them is wrong.
std::uint64_t found_bytes(DiskCache& cache, ByteRange range, const ContentKey& key = kKey) {
  std::uint64_t bytes = 0;
  auto at = range.offset;
  for (const auto& part : cache.find(key, range)) {
    if (!is_right(part)) return UINT64_MAX;
    const auto begin = std::max(at, part.offset);
    const auto end = std::min(range.offset + range.size, part.end());
    if (end > begin) bytes += end - begin;
    at = std::max(at, end);
  }
  return bytes;
}

struct Cache {
  test::TestLog log;
  test::TempDirectory temp;
  std::string folder = (temp.path() / "cache").string();

  Result<std::unique_ptr<DiskCache>> open(std::uint64_t quota_bytes = 100 << 20) {
    auto cache = DiskCache::open({.folder = folder, .quota_bytes = quota_bytes}, log.log());
    if (cache) (*cache)->start();
    return cache;
  }
  std::uint64_t disk_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : files::directory_iterator(folder)) bytes += entry.file_size();
    return bytes;
  }
  std::vector<files::path> segments() const {
    std::vector<files::path> found;
    for (const auto& entry : files::directory_iterator(folder)) {
      if (entry.path().filename() != "lock") found.push_back(entry.path());
    }
    return found;
  }
};

TEST_CASE("disk_cache: stored parts are found, now and after a restart",
          "[net][disk_cache][unit]") {
  Cache place;
  {
    const auto cache = place.open();
    REQUIRE(cache);
    (*cache)->store(kKey, part_of(1000, 500'000));
    (*cache)->store({3, 4}, part_of(0, 10));
    (*cache)->flush();
    CHECK(found_bytes(**cache, {1000, 500'000}) == 500'000);
    CHECK(found_bytes(**cache, {0, 2000}) == 1000);
    CHECK((*cache)->holds(kKey, {400'000, 1000}));
    CHECK_FALSE((*cache)->holds(kKey, {501'000, 1}));
  }
  const auto again = place.open();
  REQUIRE(again);
  CHECK(found_bytes(**again, {200'000, 200'000}) == 200'000);
  CHECK(found_bytes(**again, {0, 10}, {3, 4}) == 10);
  CHECK(found_bytes(**again, {0, 10}, {3, 5}) == 0);
  CHECK(place.log.lines().empty());
}

TEST_CASE("disk_cache: the folder is its owner's, and one mount's", "[net][disk_cache][unit]") {
  Cache place;
  const auto first = place.open();
  REQUIRE(first);
  struct stat st{};
  REQUIRE(::stat(place.folder.c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0700);
  const auto second = place.open();
  REQUIRE_FALSE(second);
  CHECK(second.error().sys == EBUSY);

  files::create_directory_symlink(place.folder, place.temp.path() / "link");
  place.folder = (place.temp.path() / "link").string();
  CHECK_FALSE(place.open());
}

TEST_CASE("disk_cache: the mode of a folder with files stays", "[net][disk_cache][unit]") {
  Cache place;
  files::create_directory(place.folder);
  const auto other_file = files::path(place.folder) / "of another program";
  const auto mode_after_open = [&](mode_t mode, bool is_opened) {
    REQUIRE(::chmod(place.folder.c_str(), mode) == 0);
    const auto cache = place.open();
    CHECK(cache.has_value() == is_opened);
    if (!cache) CHECK(cache.error().sys == EPERM);
    struct stat st{};
    REQUIRE(::stat(place.folder.c_str(), &st) == 0);
    return st.st_mode & 07777;
  };
  // An empty folder is the cache's own.
  CHECK(mode_after_open(0775, true) == 0700);
  std::ofstream(other_file) << "x";
  CHECK(mode_after_open(0755, true) == 0755);
  CHECK(mode_after_open(0775, false) == 0775);
  CHECK(mode_after_open(01777, false) == 01777);
}

TEST_CASE("disk_cache: a FIFO in the place of a segment is no segment",
          "[net][disk_cache][corrupt]") {
  Cache place;
  files::create_directory(place.folder);
  REQUIRE(::mkfifo((place.folder + "/segment-0000000007").c_str(), 0600) == 0);
  const auto cache = place.open();
  REQUIRE(cache);
  (*cache)->store(kKey, part_of(0, 100));
  (*cache)->flush();  // waits for the index
  CHECK(found_bytes(**cache, {0, 100}) == 100);
}

TEST_CASE("disk_cache: a damaged record is found once", "[net][disk_cache][corrupt]") {
  Cache place;
  const auto mount = [&] {
    const auto cache = place.open();
    REQUIRE(cache);
    const auto found = found_bytes(**cache, {0, 30'000});
    (*cache)->store(kKey, part_of(0, 30'000));
    (*cache)->flush();
    return found;
  };
  {
    const auto cache = place.open();
    REQUIRE(cache);
    for (std::uint64_t i = 0; i < 3; ++i) (*cache)->store(kKey, part_of(i * 10'000, 10'000));
    (*cache)->flush();
  }
  {
    std::fstream file(place.segments()[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(kCacheHeaderBytes + 100));
    file.put('\x7f');
  }
  CHECK(mount() == 20'000);
  CHECK(place.log.lines().size() == 1);
  const auto bytes = place.disk_bytes();
  CHECK(mount() == 30'000);
  CHECK(place.log.lines().size() == 1);
  CHECK(place.disk_bytes() == bytes);
}

TEST_CASE("disk_cache: never above its quota", "[net][disk_cache][unit]") {
  constexpr std::uint64_t kQuota = 2 << 20;
  Cache place;
  {
    const auto cache = place.open(kQuota);
    REQUIRE(cache);
    for (std::uint64_t i = 0; i < 40; ++i) {
      (*cache)->store(kKey, part_of(i * 1'000'000, 300'000));
      (*cache)->flush();
      CHECK(place.disk_bytes() <= kQuota);
      CHECK((*cache)->used_bytes() <= kQuota);
    }
    // The newest part is there.
    CHECK(found_bytes(**cache, {39'000'000, 300'000}) == 300'000);
    CHECK(found_bytes(**cache, {0, 300'000}) == 0);
  }
  const auto smaller = place.open(kQuota / 2);
  REQUIRE(smaller);
  (*smaller)->flush();
  CHECK(place.disk_bytes() <= kQuota / 2);
}

TEST_CASE("disk_cache: used parts stay longer", "[net][disk_cache][unit]") {
  Cache place;
  const auto cache = place.open(2 << 20);
  REQUIRE(cache);
  (*cache)->store(kKey, part_of(0, 100'000));
  (*cache)->flush();
  for (std::uint64_t i = 1; i < 30; ++i) {
    CHECK(found_bytes(**cache, {0, 100'000}) == 100'000);
    (*cache)->store(kKey, part_of(i * 1'000'000, 100'000));
    (*cache)->flush();
  }
  // The earlier parts in other segments have gone.
  CHECK(found_bytes(**cache, {8'000'000, 100'000}) == 0);
}

// Oracle: after any bit flip, the cache returns correct bytes or none, and still has the records
// without damage.
TEST_CASE("disk_cache: damage is never served", "[net][disk_cache][corrupt]") {
  Cache place;
  {
    const auto cache = place.open();
    REQUIRE(cache);
    for (std::uint64_t i = 0; i < 10; ++i) (*cache)->store(kKey, part_of(i * 10'000, 1000));
    (*cache)->flush();
  }
  REQUIRE(place.segments().size() == 1);
  const auto segment = place.segments()[0];
  const auto size = files::file_size(segment);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto at = static_cast<std::streamoff>(random() % size);
    const auto flip = [&] {
      std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(at);
      const auto byte = static_cast<char>(file.get() ^ (1 << (round % 8)));
      file.seekp(at);
      file.put(byte);
    };
    flip();
    {
      const auto cache = place.open();
      REQUIRE(cache);
      std::uint64_t found = 0;
      for (std::uint64_t i = 0; i < 10; ++i) {
        const auto bytes = found_bytes(**cache, {i * 10'000, 1000});
        REQUIRE(bytes <= 1000);
        found += bytes;
      }
      REQUIRE(found < 10'000);
    }
    flip();
  }
}

TEST_CASE("disk_cache: a torn end costs only its own records", "[net][disk_cache][crash]") {
  Cache place;
  {
    const auto cache = place.open();
    REQUIRE(cache);
    for (std::uint64_t i = 0; i < 4; ++i) (*cache)->store(kKey, part_of(i * 10'000, 1000));
    (*cache)->flush();
  }
  const auto segment = place.segments()[0];
  for (auto size = files::file_size(segment); size > 0; size -= std::min<std::uint64_t>(size, 97)) {
    files::resize_file(segment, size);
    const auto cache = place.open();
    REQUIRE(cache);
    const auto whole = size / (kCacheHeaderBytes + 1000);
    for (std::uint64_t i = 0; i < 4; ++i) {
      CHECK(found_bytes(**cache, {i * 10'000, 1000}) == (i < whole ? 1000U : 0U));
    }
  }
}

TEST_CASE("disk_cache: files that are not segments are left alone", "[net][disk_cache][unit]") {
  Cache place;
  files::create_directory(place.folder);
  std::ofstream(place.folder + "/segment-x") << "x";
  std::ofstream(place.folder + "/notes") << "mine";
  std::ofstream(place.folder + "/segment-0000000007") << "no record in it";
  const auto cache = place.open();
  REQUIRE(cache);
  (*cache)->store(kKey, part_of(0, 100));
  (*cache)->flush();
  CHECK(found_bytes(**cache, {0, 100}) == 100);
  CHECK(files::exists(place.folder + "/notes"));
  CHECK(files::exists(place.folder + "/segment-x"));
}

TEST_CASE("disk_cache: many threads at once", "[net][disk_cache][race]") {
  Cache place;
  const auto cache = place.open(3 << 20);
  REQUIRE(cache);
  std::atomic<int> wrong{0};
  test::on_threads(6, [&](std::size_t thread) {
    std::mt19937_64 random(thread);
    for (int i = 0; i < 100; ++i) {
      const auto offset = random() % 50 * 100'000;
      if (thread % 2 == 0) {
        (*cache)->store(kKey, part_of(offset, 60'000));
      } else if (found_bytes(**cache, {offset, 60'000}) > 60'000) {
        wrong.fetch_add(1);
      }
    }
  });
  CHECK(wrong.load() == 0);
  CHECK(place.log.lines().empty());
  (*cache)->flush();
  CHECK(place.disk_bytes() <= 3 << 20);
}

TEST_CASE("cache_index: of overlapping records the furthest is found", "[net][disk_cache][unit]") {
  CacheIndex index;
  index.add({kKey, 0, 100}, 1, 0);
  index.add({kKey, 50, 100}, 2, 0);
  index.add({kKey, 50, 20}, 3, 0);  // shorter than the one there
  index.add({kKey, 300, 10}, 2, 500);
  CHECK(index.find(kKey, 60)->segment == 2);
  CHECK(index.find(kKey, 10)->segment == 1);
  CHECK_FALSE(index.find(kKey, 150));
  CHECK(index.next_begin(kKey, 150) == 300);
  CHECK(index.holds(kKey, {0, 150}));
  CHECK_FALSE(index.holds(kKey, {0, 151}));
  CHECK(index.records() == 3);
  index.remove_segment(2);
  CHECK(index.records() == 1);
  CHECK_FALSE(index.find(kKey, 300));
}

}  // namespace
}  // namespace framefs::net::disk_cache_test

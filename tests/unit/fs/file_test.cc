#include "fs/core/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"

namespace framefs::fs::file_test {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

UniqueFd open_file(const std::filesystem::path& path, int flags = O_RDONLY) {
  return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC));
}

FileIdentity identity_at(const std::filesystem::path& path) {
  struct stat st{};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  return identity_of(st);
}

TEST_CASE("file: a descriptor is closed once, when its last owner goes", "[fs][file][unit]") {
  int first = -1;
  int second = -1;
  {
    UniqueFd a = open_file("/dev/null");
    UniqueFd b = open_file("/dev/null");
    first = a.get();
    second = b.get();
    REQUIRE(is_open(first));
    a = std::move(b);
    CHECK_FALSE(is_open(first));
    CHECK(a.get() == second);
    UniqueFd c(std::move(a));
    CHECK(c.get() == second);
    CHECK(is_open(second));
    UniqueFd& itself = c;
    c = std::move(itself);
    CHECK(c.get() == second);
    CHECK(is_open(second));
  }
  CHECK_FALSE(is_open(second));
}

TEST_CASE("file: a released descriptor stays open", "[fs][file][unit]") {
  int fd = -1;
  {
    UniqueFd owner = open_file("/dev/null");
    fd = owner.release();
    CHECK_FALSE(owner);
  }
  REQUIRE(is_open(fd));
  ::close(fd);
  CHECK_FALSE(UniqueFd());
}

// Oracle: the bytes that were written.
TEST_CASE("file: read_fully returns the requested bytes, or reports the end of the file",
          "[fs][file][unit]") {
  const test::TempDirectory folder;
  const auto content = test::noise(1000, 1);
  const auto file = open_file(folder.write("data", content));
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{990}}) {
    test::Bytes out(10);
    REQUIRE(read_fully(file.get(), offset, out));
    CHECK(
        std::equal(out.begin(), out.end(), content.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
  CHECK(read_fully(file.get(), 5000, {}));
  for (const std::uint64_t offset : {std::uint64_t{991}, std::uint64_t{1000}, std::uint64_t{5000},
                                     std::uint64_t{std::numeric_limits<std::int64_t>::max()} - 9,
                                     std::uint64_t{std::numeric_limits<std::int64_t>::max()},
                                     std::numeric_limits<std::uint64_t>::max()}) {
    INFO("offset " << offset);
    test::Bytes out(10);
    const auto read = read_fully(file.get(), offset, out);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == Errc::truncated);
    CHECK(read.error().at == offset);
  }
}

TEST_CASE("file: read_fully passes on the errno of the system", "[fs][file][unit]") {
  const test::TempDirectory folder;
  test::Bytes out(4);
  const auto directory = open_file(folder.path(), O_RDONLY | O_DIRECTORY);
  const auto of_directory = read_fully(directory.get(), 12, out);
  REQUIRE_FALSE(of_directory);
  CHECK(of_directory.error().kind == Errc::system);
  CHECK(of_directory.error().sys == EISDIR);
  CHECK(of_directory.error().at == 12);
  const auto of_nothing = read_fully(-1, 0, out);
  REQUIRE_FALSE(of_nothing);
  CHECK(of_nothing.error().sys == EBADF);
}

// Files of procfs return a large read one page at a time.  Oracle: the content read by a stream.
TEST_CASE("file: read_fully goes on when the kernel gives less than asked for",
          "[fs][file][unit]") {
  bool met = false;
  for (const auto* const path : {"/proc/kallsyms", "/proc/crypto"}) {
    constexpr std::size_t kMax = 1u << 16;
    std::ifstream stream(path, std::ios::binary);
    std::string expected(kMax, '\0');
    stream.read(expected.data(), static_cast<std::streamsize>(kMax));
    expected.resize(static_cast<std::size_t>(stream.gcount()));
    const auto file = open_file(path);
    test::Bytes out(expected.size());
    if (!file || ::pread(file.get(), out.data(), out.size(), 0) >= std::ssize(out)) continue;
    met = true;
    out.assign(out.size(), std::byte{0});
    REQUIRE(read_fully(file.get(), 0, out));
    CHECK(std::ranges::equal(out, std::as_bytes(std::span(expected))));
  }
  if (!met) WARN("no file here gives short reads");
}

TEST_CASE("file: stat_of takes descriptors that only name a file", "[fs][file][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.write("data", "12345");
  const auto named = stat_of(open_file(path, O_PATH).get());
  REQUIRE(named);
  CHECK(named->st_size == 5);
  std::filesystem::create_symlink("nowhere", folder.path() / "link");
  const auto link = stat_of(open_file(folder.path() / "link", O_PATH | O_NOFOLLOW).get());
  REQUIRE(link);
  CHECK(S_ISLNK(link->st_mode));
  const auto nothing = stat_of(-1);
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().sys == EBADF);
}

// Oracle: every change that a writer can make is visible, and nothing else is.
TEST_CASE("file: an identity changes with size, times and file, and with nothing else",
          "[fs][file][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.write("data", "12345");
  const auto before = identity_at(path);
  CHECK(before == identity_at(path));
  {
    std::ifstream reader(path);
    CHECK(reader.get() == '1');
  }
  CHECK(before == identity_at(path));

  auto set_mtime = [&](timespec time) {
    const std::array<timespec, 2> times{timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, time};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
    return identity_at(path);
  };
  const auto early = set_mtime({.tv_sec = 1'000'000'000, .tv_nsec = 1});
  const auto later = set_mtime({.tv_sec = 1'000'000'000, .tv_nsec = 2});
  CHECK(early.mtime_ns == 1'000'000'000'000'000'001);
  CHECK(later.mtime_ns == early.mtime_ns + 1);
  CHECK(early != later);
  const auto before_the_epoch = set_mtime({.tv_sec = -1, .tv_nsec = 999'999'999});
  CHECK(before_the_epoch.mtime_ns == -1);

  folder.write("data", "123456");
  CHECK(identity_at(path).size == 6);
  folder.write("other", "123456");
  CHECK(identity_at(folder.path() / "other").inode != identity_at(path).inode);
}

// Oracle: two states that differ in one field have different identities.
TEST_CASE("file: every field of an identity counts", "[fs][file][unit]") {
  const FileIdentity one{.device = 1, .inode = 2, .size = 3, .mtime_ns = 4, .ctime_ns = 5};
  CHECK(one == FileIdentity(one));
  for (int field = 0; field < 5; ++field) {
    auto other = one;
    if (field == 0) ++other.device;
    if (field == 1) ++other.inode;
    if (field == 2) ++other.size;
    if (field == 3) ++other.mtime_ns;
    if (field == 4) ++other.ctime_ns;
    INFO("field " << field);
    CHECK(one != other);
  }
}

// ext4 can store times up to the year 2446, which exceed 63 bits of nanoseconds.
TEST_CASE("file: times far away still tell states apart", "[fs][file][unit]") {
  struct stat st{};
  st.st_mtim = {.tv_sec = 15'032'385'535, .tv_nsec = 999'999'999};
  const auto one = identity_of(st);
  --st.st_mtim.tv_nsec;
  CHECK(one != identity_of(st));
}

TEST_CASE("file: a source reads its file and follows its size", "[fs][file][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.write("data", "12345");
  const FileReader source(open_file(path));
  REQUIRE(source.size());
  CHECK(*source.size() == 5);
  std::array<std::byte, 2> out{};
  REQUIRE(source.read_at(3, out));
  CHECK(out[1] == std::byte{'5'});
  folder.write("data", "1234567");
  CHECK(*source.size() == 7);
  const FileReader closed{UniqueFd()};
  REQUIRE_FALSE(closed.size());
  CHECK(closed.size().error().sys == EBADF);
}

TEST_CASE("file: errors name the call and carry errno", "[fs][file][unit]") {
  errno = ENOTTY;
  const auto error = system_error("ioctl", 9).error();
  CHECK(error.kind == Errc::system);
  CHECK(std::string(error.field) == "ioctl");
  CHECK(error.at == 9);
  CHECK(error.sys == ENOTTY);
  CHECK(system_error_of(ESTALE, "stat").error().sys == ESTALE);
}

}  // namespace
}  // namespace framefs::fs::file_test

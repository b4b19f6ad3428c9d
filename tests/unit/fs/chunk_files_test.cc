#include "fs/source/chunk_files.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/sparse_frame_builder.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"

namespace framefs::fs::chunk_files_test {
namespace {

namespace stdfs = std::filesystem;

using test::outcome;

constexpr std::uint64_t kShare = std::uint64_t{1} << 31;  // of the addresses, per file

// A directory of chunk files.
class ChunkFolder {
 public:
  [[nodiscard]] ChunkFiles files() const {
    UniqueFd fd(::open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(fd);
    return ChunkFiles(std::move(fd));
  }
  stdfs::path write(std::uint32_t id, std::span<const std::byte> content) const {
    return temp_.write(test::chunk_file_name(id), content);
  }
  [[nodiscard]] const stdfs::path& path() const { return temp_.path(); }
  // The name of chunk 1, which tests replace by something that is not a chunk file.
  [[nodiscard]] stdfs::path place() const { return path() / "00000001.chunk"; }

 private:
  test::TempDirectory temp_;
};

Result<test::Bytes> read(const ChunkFiles& files, std::uint32_t id, std::uint64_t offset,
                         std::size_t size) {
  test::Bytes out(size);
  FRAMEFS_CHECK(files.read_at(id * kShare + offset, out));
  return out;
}

std::ptrdiff_t open_descriptors() {
  return std::distance(stdfs::directory_iterator("/proc/self/fd"), stdfs::directory_iterator());
}

TEST_CASE("chunk_files: names are eight upper-case digits", "[fs][chunk_files][unit]") {
  CHECK(ChunkFiles::name_of(0) == "00000000.chunk");
  CHECK(ChunkFiles::name_of(0x2a) == "0000002A.chunk");
  CHECK(ChunkFiles::name_of(0xdeadbeef) == "DEADBEEF.chunk");
  CHECK(ChunkFiles::name_of(0xffffffff) == "FFFFFFFF.chunk");
}

TEST_CASE("chunk_files: each file is read at its own place", "[fs][chunk_files][unit]") {
  const ChunkFolder directory;
  const std::vector<std::uint32_t> ids = {0, 1, 9, 10, 0xab, 0x80000000, 0xfffffffe, 0xffffffff};
  for (const auto id : ids) directory.write(id, test::noise(100 + id % 7, id));
  const auto files = directory.files();
  for (int again = 0; again < 2; ++again) {
    for (const auto id : ids) {
      CAPTURE(id);
      const auto expected = test::noise(100 + id % 7, id);
      CHECK(files.available_from(id * kShare).value() == expected.size());
      CHECK(files.available_from(id * kShare + 30).value() == expected.size() - 30);
      CHECK(files.available_from(id * kShare + 1000).value() == 0);
      CHECK(read(files, id, 0, expected.size()).value() == expected);
      CHECK(read(files, id, 50, 10).value() ==
            test::Bytes(expected.begin() + 50, expected.begin() + 60));
      CHECK(outcome(read(files, id, 0, expected.size() + 1)) == "truncated: file at 0");
      CHECK(outcome(read(files, id, 90, 100)) == "truncated: file at 90");
    }
  }
}

TEST_CASE("chunk_files: an entry that is not a chunk file is damage, and no reader waits for it",
          "[fs][chunk_files][corrupt]") {
  const ChunkFolder directory;
  directory.write(7, test::noise(100, 1));
  const auto expect_damage = [&](const char* what) {
    CAPTURE(what);
    const auto files = directory.files();
    test::finish_in_time(what, [&] { static_cast<void>(files.available_from(kShare)); });
    CHECK(outcome(files.available_from(kShare)) == "bad field: chunk file at 0");
    CHECK(outcome(read(files, 1, 0, 10)) == "bad field: chunk file at 0");
    CHECK(files.available_from(kShare).error().value == 1);
    // The other files can still be read.
    CHECK(read(files, 7, 0, 100).value() == test::noise(100, 1));
    stdfs::remove_all(directory.place());
  };
  expect_damage("nothing");
  REQUIRE(stdfs::create_directory(directory.place()));
  expect_damage("a directory");
  stdfs::create_symlink("00000007.chunk", directory.place());
  expect_damage("a link to a chunk file");
  stdfs::create_symlink("nowhere", directory.place());
  expect_damage("a link to nothing");
  REQUIRE(::mkfifo(directory.place().c_str(), 0600) == 0);
  expect_damage("a fifo");
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = directory.place().string();
  REQUIRE(name.size() < sizeof(address.sun_path));
  std::ranges::copy(name, std::begin(address.sun_path));
  // The socket interface uses this type for addresses of every kind.
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  expect_damage("a socket");
  directory.write(0xab, test::noise(10, 1));
  stdfs::rename(directory.path() / "000000AB.chunk", directory.path() / "000000ab.chunk");
  CHECK(outcome(read(directory.files(), 0xab, 0, 10)) == "bad field: chunk file at 0");
}

TEST_CASE("chunk_files: an empty file has nothing to read", "[fs][chunk_files][corrupt]") {
  const ChunkFolder directory;
  directory.write(1, {});
  const auto files = directory.files();
  CHECK(files.available_from(kShare).value() == 0);
  CHECK(outcome(read(files, 1, 0, 1)) == "truncated: file at 0");
}

TEST_CASE("chunk_files: a file that may not be read is reported as the system does",
          "[fs][chunk_files][unit]") {
  if (::geteuid() == 0) return;  // root may read everything
  const ChunkFolder directory;
  const auto path = directory.write(1, test::noise(10, 1));
  REQUIRE(::chmod(path.c_str(), 0) == 0);
  const auto got = read(directory.files(), 1, 0, 10);
  REQUIRE_FALSE(got);
  CHECK(got.error().kind == Errc::system);
  CHECK(got.error().sys == EACCES);
}

// Oracle: the descriptors of the process.
TEST_CASE("chunk_files: however many files are read, few are open", "[fs][chunk_files][unit]") {
  constexpr std::uint32_t kFiles = 3000;
  const ChunkFolder directory;
  for (std::uint32_t id = 0; id < kFiles; ++id) directory.write(id, test::noise(16, id));
  const auto before = open_descriptors();
  {
    const auto files = directory.files();
    std::ptrdiff_t most = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::uint32_t id = 0; id < kFiles; ++id) {
        REQUIRE(read(files, id, 0, 16).value() == test::noise(16, id));
        if (id % 100 == 0) most = std::max(most, open_descriptors());
      }
    }
    CHECK(most <= before + 16);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("chunk_files: many threads read many files", "[fs][chunk_files][race]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  const ChunkFolder directory;
  for (std::uint32_t id = 0; id < 40; ++id) directory.write(id, test::noise(1000, id));
  const auto before = open_descriptors();
  const auto files = directory.files();
  std::vector<int> wrong(8);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    std::mt19937 random(seed + static_cast<std::uint32_t>(thread));
    for (int round = 0; round < 500; ++round) {
      const std::uint32_t id = test::draw(random) % 40;
      const std::uint64_t offset = random() % 900;
      const auto expected = test::noise(1000, id);
      const auto got = read(files, id, offset, 100);
      const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(offset);
      if (!got || *got != test::Bytes(begin, begin + 100)) ++wrong[thread];
    }
  });
  CHECK(wrong == std::vector<int>(8));
  CHECK(open_descriptors() <= before + 16);
}

// Writers replace files: an open file keeps its old content, and a file opened later has the new
// one.
TEST_CASE("chunk_files: a file that was replaced is found again once it was closed",
          "[fs][chunk_files][unit]") {
  const ChunkFolder directory;
  for (std::uint32_t id = 0; id < 100; ++id) directory.write(id, test::noise(16, id));
  const auto files = directory.files();
  REQUIRE(read(files, 0, 0, 16));
  REQUIRE(stdfs::remove(directory.path() / "00000000.chunk"));
  CHECK(read(files, 0, 0, 16).value() == test::noise(16, 0));
  directory.write(0, test::noise(16, 777));
  for (std::uint32_t id = 1; id < 100; ++id) REQUIRE(read(files, id, 0, 16));
  CHECK(read(files, 0, 0, 16).value() == test::noise(16, 777));
}

TEST_CASE("chunk_files: a directory that was removed has no files", "[fs][chunk_files][corrupt]") {
  const test::TempDirectory temp;
  const auto path = temp.path() / "frame";
  stdfs::create_directory(path);
  const ChunkFiles files(UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  stdfs::remove(path);
  CHECK(outcome(read(files, 0, 0, 1)) == "bad field: chunk file at 0");
}

// Oracle: the data.
TEST_CASE("chunk_files: a sparse frame is read from its directory", "[fs][chunk_files][unit]") {
  constexpr std::size_t kChunks = 500;
  const auto data = test::noise(kChunks * 100, 1);
  test::FrameSpec spec;
  spec.chunksize = 100;
  for (std::size_t i = 0; i < kChunks; ++i) {
    spec.chunks.push_back(test::stored_chunk(std::span(data).subspan(100 * i, 100), {}));
  }
  const auto built = test::build_sparse_frame(spec);
  const ChunkFolder directory;
  test::write_sparse_frame(directory.path(), built);
  const codec::MemorySource index(built.index_file);
  const auto frame = codec::Frame::open_sparse(index, {}).value();
  const auto files = directory.files();
  test::Bytes out(data.size());
  REQUIRE(codec::FrameReader(index, files, frame, {}).read(0, out));
  CHECK(out == data);
}

}  // namespace
}  // namespace framefs::fs::chunk_files_test

#include "fs/source/source_probe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "fs/source/suffixes.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/small_frames.h"

namespace framefs::fs::source_probe_test {
namespace {

namespace stdfs = std::filesystem;

constexpr codec::Limits kLimits{};

// A folder and its open descriptor.
struct OpenFolder {
  OpenFolder() : fd(::open(temp.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    REQUIRE(fd);
  }
  [[nodiscard]] stdfs::path path(const std::string& name) const { return temp.path() / name; }
  test::TempDirectory temp;
  UniqueFd fd;
};

SourceEntry probed(SourceProbe& probe, const OpenFolder& folder, const std::string& name) {
  auto entry = probe.probe(folder.fd.get(), name);
  CAPTURE(name);
  REQUIRE(entry);
  return *entry;
}

// Two states of a file may get the same time, because the clock of file times is coarse.
void set_mtime(const stdfs::path& path, time_t seconds) {
  const timespec time{.tv_sec = seconds, .tv_nsec = 0};
  const timespec times[] = {time, time};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

struct stat stat_file(const stdfs::path& path) {
  struct stat st{};
  REQUIRE(::lstat(path.c_str(), &st) == 0);
  return st;
}

TEST_CASE("source_probe: a frame's header tells its sizes", "[fs][source_probe][unit]") {
  const OpenFolder folder;
  folder.temp.write("x.b2frame", test::small_frame(2500));
  SourceProbe probe(kLimits);
  for (int again = 0; again < 2; ++again) {
    const auto entry = probed(probe, folder, "x.b2frame");
    CHECK(entry.summary.content == Content::frame);
    CHECK(entry.summary.nbytes == 2500);
    CHECK(entry.summary.chunksize == 1000);
    CHECK_FALSE(entry.index_stat);
    CHECK(S_ISREG(entry.stat.st_mode));
    CHECK(entry.content_stat().st_ino == entry.stat.st_ino);
  }
}

TEST_CASE("source_probe: attributes and content are of one file while a name is replaced",
          "[fs][source_probe][unit]") {
  const OpenFolder folder;
  folder.temp.write("one.b2frame", test::small_frame(2500));
  folder.temp.write("other.b2frame", test::small_frame(100));
  const auto one = stat_file(folder.path("one.b2frame"));
  std::atomic<bool> is_over = false;
  // The name leads to one file, to the other, or to none.
  const std::jthread replacing([&] {
    while (!is_over) {
      for (const auto* const name : {"one.b2frame", "other.b2frame"}) {
        stdfs::rename(folder.path(name), folder.path("x.b2frame"));
        stdfs::rename(folder.path("x.b2frame"), folder.path(name));
      }
    }
  });
  std::size_t found = 0;
  std::size_t wrong = 0;
  // On a busy machine, the other thread begins late.
  for (int i = 0; i < 20'000 || (found == 0 && i < 20'000'000); ++i) {
    SourceProbe probe(kLimits);  // which knows nothing yet
    const auto entry = probe.probe(folder.fd.get(), "x.b2frame");
    if (!entry) continue;
    ++found;
    const std::uint64_t expected = entry->stat.st_ino == one.st_ino ? 2500 : 100;
    if (entry->summary.nbytes != expected) ++wrong;
  }
  is_over = true;
  CHECK(found > 0);
  CHECK(wrong == 0);
}

TEST_CASE("source_probe: only regular files with a frame's suffix and magic are frames",
          "[fs][source_probe][unit]") {
  const OpenFolder folder;
  const auto frame = test::small_frame(100);
  folder.temp.write("plain", frame);
  folder.temp.write(".b2", frame);
  folder.temp.write("text.b2", "this is no frame, though it is long enough to be one for a while");
  folder.temp.write("empty.b2nd", "");
  folder.temp.write("x.b2", frame);
  stdfs::create_directory(folder.path("folder.b2"));
  stdfs::create_symlink("x.b2", folder.path("link.b2"));
  stdfs::create_symlink("nowhere", folder.path("dangling.b2"));
  REQUIRE(::mkfifo(folder.path("fifo.b2").c_str(), 0600) == 0);
  SourceProbe probe(kLimits);
  for (const auto* const name : {"plain", ".b2", "text.b2", "empty.b2nd", "folder.b2", "link.b2",
                                 "dangling.b2", "fifo.b2"}) {
    // For the fifo, probing must not wait for a writer.
    const auto entry = probed(probe, folder, name);
    CAPTURE(name);
    CHECK(entry.summary.content == Content::other);
    CHECK(entry.summary.nbytes == 0);
  }
  CHECK(S_ISLNK(probed(probe, folder, "link.b2").stat.st_mode));
  const auto missing = probe.probe(folder.fd.get(), "missing.b2");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == Errc::system);
  CHECK(missing.error().sys == ENOENT);
}

TEST_CASE("source_probe: the expected content can be given instead of a name",
          "[fs][source_probe][unit]") {
  const OpenFolder folder;
  folder.temp.write("plain", test::small_array(10));
  test::write_sparse_frame(folder.path("folder"), test::small_sparse_frame(1500));
  SourceProbe probe(kLimits);
  const auto content = [&](const char* name, Expected expected) {
    const auto entry = probe.probe_as(folder.fd.get(), name, expected);
    REQUIRE(entry);
    return entry->summary.content;
  };
  CHECK(content("plain", Expected::nothing) == Content::other);
  CHECK(content("plain", Expected::frame) == Content::frame);
  CHECK(content("plain", Expected::array) == Content::array);
  CHECK(content("folder", Expected::nothing) == Content::other);
  CHECK(content("folder", Expected::frame) == Content::frame);
  CHECK(content("folder", Expected::array) == Content::frame);
}

// Oracle: bytes 2 to 9 are the magic.  A shorter file is not a frame, unless it is empty; a longer
// one is, even if damaged.
TEST_CASE("source_probe: a frame that was cut short stays a frame, of no known size",
          "[fs][source_probe][corrupt]") {
  const OpenFolder folder;
  const auto frame = test::small_frame(100);
  SourceProbe probe(kLimits);
  for (std::size_t size = 0; size <= 88; ++size) {
    CAPTURE(size);
    const auto name = std::to_string(size) + ".b2";
    folder.temp.write(name, std::span(frame).first(size));
    const auto entry = probed(probe, folder, name);
    const bool is_frame = size >= 10 || size == 0;
    CHECK(entry.summary.content == (is_frame ? Content::frame : Content::other));
    CHECK(entry.summary.nbytes == (size >= 87 ? 100 : 0));
  }
  folder.temp.write("damaged.b2", test::damaged_frame());
  const auto damaged = probed(probe, folder, "damaged.b2");
  CHECK(damaged.summary.content == Content::frame);
  CHECK(damaged.summary.nbytes == 0);
  CHECK(damaged.summary.chunksize == 0);
}

TEST_CASE("source_probe: a directory with the index of a sparse frame is one",
          "[fs][source_probe][unit]") {
  const OpenFolder folder;
  const auto frame = test::small_sparse_frame(2500);
  std::uint64_t stored = frame.index_file.size();
  for (const auto& [id, chunk] : frame.chunks) stored += chunk.size();
  for (const auto* const name : {"x.b2frame", "x.b2f", "x.b2", "x.b2b", "x.b2nd"}) {
    test::write_sparse_frame(folder.path(name), frame);
  }
  test::write_sparse_frame(folder.path("array.b2nd"),
                           test::build_sparse_frame(test::small_array_frame(700)));
  SourceProbe probe(kLimits);
  for (int again = 0; again < 2; ++again) {
    for (const auto* const name : {"x.b2frame", "x.b2f", "x.b2", "x.b2b", "x.b2nd"}) {
      const auto entry = probed(probe, folder, name);
      CHECK(entry.summary.content == Content::frame);
      CHECK(entry.summary.is_sparse);
      CHECK(entry.summary.nbytes == 2500);
      CHECK(entry.summary.chunksize == 1000);
      CHECK(entry.summary.stored_bytes == stored);
      CHECK(S_ISDIR(entry.stat.st_mode));
      const auto index = stat_file(folder.path(name) / "chunks.b2frame");
      REQUIRE(entry.index_stat);
      CHECK(entry.index_stat->st_ino == index.st_ino);
      CHECK(entry.content_stat().st_mtime == index.st_mtime);
    }
    const auto array = probed(probe, folder, "array.b2nd");
    CHECK(array.summary.content == Content::array);
    CHECK(array.summary.array_bytes == 2800);
  }
}

TEST_CASE("source_probe: a directory without a sparse frame's index is a directory",
          "[fs][source_probe][unit]") {
  const OpenFolder folder;
  const auto index = test::sparse_index(2500);
  const auto make = [&](const std::string& name) {
    stdfs::create_directory(folder.path(name));
    return folder.path(name) / "chunks.b2frame";
  };
  make("empty.b2");
  folder.temp.write(make("text.b2"), "no index");
  folder.temp.write(make("contiguous.b2"), test::small_frame(100));
  folder.temp.write(make("none_expected"), index);
  folder.temp.write(make("store.b2e"), index);
  folder.temp.write(make("archive.b2z"), index);
  stdfs::create_directory(make("folder.b2"));
  folder.temp.write("elsewhere", index);
  stdfs::create_symlink("../elsewhere", make("link.b2"));
  REQUIRE(::mkfifo(make("fifo.b2").c_str(), 0600) == 0);
  folder.temp.write(make("target.b2").parent_path() / "CHUNKS.B2FRAME", index);
  SourceProbe probe(kLimits);
  for (const auto* const name :
       {"empty.b2", "text.b2", "contiguous.b2", "none_expected", "store.b2e", "archive.b2z",
        "folder.b2", "link.b2", "fifo.b2", "target.b2"}) {
    const auto entry = probed(probe, folder, name);
    CAPTURE(name);
    CHECK(entry.summary.content == Content::other);
    CHECK_FALSE(entry.index_stat);
    CHECK(S_ISDIR(entry.stat.st_mode));
  }
  // A link to the directory of a sparse frame is just a link.
  test::write_sparse_frame(folder.path("real.b2"), test::small_sparse_frame(100));
  stdfs::create_directory_symlink("real.b2", folder.path("alias.b2"));
  CHECK(probed(probe, folder, "alias.b2").summary.content == Content::other);
}

TEST_CASE("source_probe: the index of a sparse frame is no frame by itself",
          "[fs][source_probe][unit]") {
  const OpenFolder folder;
  folder.temp.write("chunks.b2frame", test::sparse_index(100));
  folder.temp.write("other.b2frame", test::sparse_index(100));
  SourceProbe probe(kLimits);
  for (int again = 0; again < 2; ++again) {
    CHECK(probed(probe, folder, "chunks.b2frame").summary.content == Content::other);
    CHECK(probed(probe, folder, "other.b2frame").summary.content == Content::other);
  }
  folder.temp.write("chunks.b2frame", test::small_frame(100));
  set_mtime(folder.path("chunks.b2frame"), 1000);
  CHECK(probed(probe, folder, "chunks.b2frame").summary.content == Content::frame);
}

TEST_CASE("source_probe: a frame may begin anywhere in a file", "[fs][source_probe][unit]") {
  const OpenFolder folder;
  auto file = test::noise(1001, 3);
  test::append(file, test::small_frame(2500));
  folder.temp.write("x.b2", file);
  SourceProbe there(kLimits, 1001);
  CHECK(probed(there, folder, "x.b2").summary.nbytes == 2500);
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{file.size() - 5},
        std::uint64_t{file.size()}, std::uint64_t{file.size() + 1}, ~std::uint64_t{0}}) {
    CAPTURE(offset);
    SourceProbe elsewhere(kLimits, offset);
    CHECK(probed(elsewhere, folder, "x.b2").summary.content == Content::other);
  }
}

TEST_CASE("source_probe: a file that changed is looked at again", "[fs][source_probe][unit]") {
  const OpenFolder folder;
  const auto path = folder.temp.write("x.b2", test::small_frame(100));
  set_mtime(path, 1000);
  SourceProbe probe(kLimits);
  CHECK(probed(probe, folder, "x.b2").summary.nbytes == 100);
  folder.temp.write("x.b2", test::small_frame(200));
  set_mtime(path, 2000);
  CHECK(probed(probe, folder, "x.b2").summary.nbytes == 200);
  // Same size, so that only the times differ.
  auto same_size = test::small_frame(200);
  test::put_be<std::int64_t>(same_size, 30, 150);
  folder.temp.write("x.b2", same_size);
  set_mtime(path, 3000);
  CHECK(probed(probe, folder, "x.b2").summary.nbytes == 150);
  folder.temp.write("x.b2", "text");
  CHECK(probed(probe, folder, "x.b2").summary.content == Content::other);
}

// Oracle: the header as it is.  The file keeps its size and gets times set by hand: only the time
// of change distinguishes two states, and it advances in ticks.
TEST_CASE("source_probe: states of one tick of the clock are distinguished",
          "[fs][source_probe][race]") {
  const OpenFolder folder;
  SourceProbe probe(kLimits);
  auto frame = test::small_frame(200);
  const auto path = folder.temp.write("x.b2", frame);
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(fd);
  constexpr std::size_t kNbytesAt = 30;
  for (std::int64_t nbytes = 100; nbytes < 300; ++nbytes) {
    test::put_be<std::int64_t>(frame, kNbytesAt, nbytes);
    const auto field = std::span(frame).subspan(kNbytesAt, sizeof(nbytes));
    REQUIRE(::pwrite(fd.get(), field.data(), field.size(), kNbytesAt) ==
            static_cast<ssize_t>(field.size()));
    set_mtime(path, 1000);
    CHECK(probed(probe, folder, "x.b2").summary.nbytes == static_cast<std::uint64_t>(nbytes));
  }
}

TEST_CASE("source_probe: a sparse frame whose index changed is looked at again",
          "[fs][source_probe][unit]") {
  const OpenFolder folder;
  const auto index = folder.path("x.b2") / "chunks.b2frame";
  test::write_sparse_frame(folder.path("x.b2"), test::small_sparse_frame(1500));
  set_mtime(index, 1000);
  SourceProbe probe(kLimits);
  CHECK(probed(probe, folder, "x.b2").summary.nbytes == 1500);
  test::write_sparse_frame(folder.path("x.b2"), test::small_sparse_frame(2500));
  set_mtime(index, 2000);
  CHECK(probed(probe, folder, "x.b2").summary.nbytes == 2500);
  REQUIRE(stdfs::remove(index));
  CHECK(probed(probe, folder, "x.b2").summary.content == Content::other);
}

// Oracle: bytes that changed without a change of identity are not seen, so they were not read.
TEST_CASE("source_probe: a file in a known state is not read again", "[fs][source_probe][unit]") {
  const OpenFolder folder;
  const auto path = folder.temp.write("x.b2", test::small_array(25));
  const FileReader file(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  SourceProbe probe(kLimits);
  struct stat state{};
  state.st_size = static_cast<off_t>(stdfs::file_size(path));
  const auto nbytes = [&](Expected expected) {
    const auto summary = probe.probe_open(file, state, expected);
    return expected == Expected::array ? summary.array_bytes : summary.nbytes;
  };
  CHECK(nbytes(Expected::frame) == 1200);  // a chunk of whole blocks
  CHECK(nbytes(Expected::array) == 100);   // the same file, probed as an array
  folder.temp.write("x.b2", test::small_array(300));
  CHECK(nbytes(Expected::frame) == 1200);
  CHECK(nbytes(Expected::array) == 100);
  state.st_size = static_cast<off_t>(stdfs::file_size(path));
  state.st_ctim.tv_nsec = 1;
  CHECK(nbytes(Expected::frame) == 2400);
  CHECK(nbytes(Expected::array) == 1200);
}

TEST_CASE("source_probe: of a listed file, the content alone is found",
          "[fs][source_probe][unit]") {
  const OpenFolder folder;
  folder.temp.write("x.b2", test::small_frame(100));
  folder.temp.write("text.b2", "b2f");
  folder.temp.write("unreadable.b2", test::small_frame(100));
  REQUIRE(::chmod(folder.path("unreadable.b2").c_str(), 0) == 0);
  REQUIRE(::mkfifo(folder.path("fifo.b2").c_str(), 0600) == 0);
  stdfs::create_directory(folder.path("folder.b2"));
  stdfs::create_symlink("x.b2", folder.path("link.b2"));
  test::write_sparse_frame(folder.path("sparse.b2"), test::small_sparse_frame(70));
  SourceProbe probe(kLimits);
  const auto content = [&](const std::string& name) {
    const auto summary = probe.summary_of_file(folder.fd.get(), name, expected_content(name), name);
    const auto entry = probe.probe(folder.fd.get(), name);
    REQUIRE(summary.has_value() == entry.has_value());
    if (!entry) return std::string(summary.error().sys == ENOENT ? "absent" : "failed");
    CHECK(summary->nbytes == entry->summary.nbytes);
    CHECK(summary->content == entry->summary.content);
    return std::string(summary->content == Content::frame ? "frame" : "other");
  };
  // Nothing is known; then the files are known; then they are other files under the same names.
  for (int round = 0; round < 2; ++round) {
    CHECK(content("x.b2") == "frame");
    CHECK(content("text.b2") == "other");
    CHECK(content("unreadable.b2") == (::geteuid() == 0 ? "frame" : "other"));
    CHECK(content("fifo.b2") == "other");
    CHECK(content("folder.b2") == "other");
    CHECK(content("link.b2") == "other");
    CHECK(content("sparse.b2") == "frame");
    CHECK(content("none.b2") == "absent");
  }
  folder.temp.write("x.b2", "no frame");
  folder.temp.write("text.b2", test::small_frame(50));
  CHECK(content("x.b2") == "other");
  CHECK(content("text.b2") == "frame");
}

TEST_CASE("source_probe: many threads find the same", "[fs][source_probe][race]") {
  const OpenFolder folder;
  for (std::size_t i = 0; i < 20; ++i) {
    const auto name = std::to_string(i) + ".b2";
    if (i % 2 == 0) {
      folder.temp.write(name, test::small_frame(100 + i));
    } else {
      test::write_sparse_frame(folder.path(name), test::small_sparse_frame(100 + i));
    }
  }
  SourceProbe probe(kLimits);
  std::vector<int> wrong(8);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    for (std::size_t i = 0; i < 20; ++i) {
      const auto entry = probe.probe(folder.fd.get(), std::to_string(i) + ".b2");
      if (!entry || entry->summary.nbytes != 100 + i) ++wrong[thread];
    }
  });
  CHECK(wrong == std::vector<int>(8));
}

}  // namespace
}  // namespace framefs::fs::source_probe_test

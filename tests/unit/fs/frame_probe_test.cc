#include "fs/tree/frame_probe.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/small_frames.h"

namespace framefs::fs {
namespace {

// A folder that is open.
struct Folder {
  Folder() : fd(::open(temp.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) { REQUIRE(fd); }
  test::TempDirectory temp;
  UniqueFd fd;
};

// Two states of a file may fall into one tick of the clock that its times are taken from.
void set_mtime(const std::filesystem::path& path, time_t seconds) {
  const timespec time{.tv_sec = seconds, .tv_nsec = 0};
  const timespec times[] = {time, time};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

TEST_CASE("frame_probe: a frame's header tells its sizes", "[fs][frame_probe][unit]") {
  const Folder folder;
  folder.temp.write("x.b2frame", test::small_frame(2500));
  FrameProbe probe;
  for (int again = 0; again < 2; ++again) {
    const auto file = probe.probe(folder.fd.get(), "x.b2frame");
    REQUIRE(file);
    CHECK(file->summary.is_frame);
    CHECK_FALSE(file->summary.is_sparse);
    CHECK(file->summary.nbytes == 2500);
    CHECK(file->summary.chunksize == 1000);
    CHECK(S_ISREG(file->stat.st_mode));
  }
}

TEST_CASE("frame_probe: only regular files with a frame's suffix and magic are frames",
          "[fs][frame_probe][unit]") {
  const Folder folder;
  const auto frame = test::small_frame(100);
  folder.temp.write("plain", frame);
  folder.temp.write(".b2", frame);
  folder.temp.write("text.b2", "this is no frame, though it is long enough to be one for a while");
  folder.temp.write("empty.b2", "");
  folder.temp.write("x.b2", frame);
  std::filesystem::create_directory(folder.temp.path() / "folder.b2");
  std::filesystem::create_symlink("x.b2", folder.temp.path() / "link.b2");
  std::filesystem::create_symlink("nowhere", folder.temp.path() / "dangling.b2");
  REQUIRE(::mkfifo((folder.temp.path() / "fifo.b2").c_str(), 0600) == 0);
  FrameProbe probe;
  for (const auto* const name :
       {"plain", ".b2", "text.b2", "empty.b2", "folder.b2", "link.b2", "dangling.b2", "fifo.b2"}) {
    CAPTURE(name);
    const auto file =
        probe.probe(folder.fd.get(), name);  // of the fifo, without waiting for a writer
    REQUIRE(file);
    CHECK_FALSE(file->summary.is_frame);
    CHECK(file->summary.nbytes == 0);
  }
  CHECK(S_ISLNK(probe.probe(folder.fd.get(), "link.b2")->stat.st_mode));
  const auto missing = probe.probe(folder.fd.get(), "missing.b2");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == Errc::system);
  CHECK(missing.error().sys == ENOENT);
}

// Oracle: bytes 2 to 9 are the magic; less of it is no frame, and more is one however damaged.
TEST_CASE("frame_probe: a frame that was cut short stays a frame, of no known size",
          "[fs][frame_probe][corrupt]") {
  const Folder folder;
  const auto frame = test::small_frame(100);
  FrameProbe probe;
  for (std::size_t size = 0; size <= 88; ++size) {
    CAPTURE(size);
    const auto name = std::to_string(size) + ".b2";
    folder.temp.write(name, std::span(frame).first(size));
    const auto file = probe.probe(folder.fd.get(), name);
    REQUIRE(file);
    CHECK(file->summary.is_frame == (size >= 10));
    CHECK(file->summary.nbytes == (size >= 87 ? 100 : 0));
  }
  folder.temp.write("damaged.b2", test::damaged_frame());
  const auto damaged = probe.probe(folder.fd.get(), "damaged.b2");
  REQUIRE(damaged);
  CHECK(damaged->summary.is_frame);
  CHECK(damaged->summary.nbytes == 0);
  CHECK(damaged->summary.chunksize == 0);
}

TEST_CASE("frame_probe: the index of a sparse frame is no frame by itself",
          "[fs][frame_probe][unit]") {
  const Folder folder;
  folder.temp.write("chunks.b2frame", test::sparse_index(100));
  folder.temp.write("other.b2frame", test::sparse_index(100));
  FrameProbe probe;
  for (int again = 0; again < 2; ++again) {
    CHECK_FALSE(probe.probe(folder.fd.get(), "chunks.b2frame")->summary.is_frame);
    const auto other = probe.probe(folder.fd.get(), "other.b2frame");
    CHECK(other->summary.is_frame);
    CHECK(other->summary.is_sparse);
  }
  folder.temp.write("chunks.b2frame", test::small_frame(100));
  set_mtime(folder.temp.path() / "chunks.b2frame", 1000);
  CHECK(probe.probe(folder.fd.get(), "chunks.b2frame")->summary.is_frame);
}

TEST_CASE("frame_probe: a file that changed is looked at again", "[fs][frame_probe][unit]") {
  const Folder folder;
  const auto path = folder.temp.write("x.b2", test::small_frame(100));
  set_mtime(path, 1000);
  FrameProbe probe;
  CHECK(probe.probe(folder.fd.get(), "x.b2")->summary.nbytes == 100);
  folder.temp.write("x.b2", test::small_frame(200));
  set_mtime(path, 2000);
  CHECK(probe.probe(folder.fd.get(), "x.b2")->summary.nbytes == 200);
  // The same size, so that only the times tell.
  auto same_size = test::small_frame(200);
  test::put_be<std::int64_t>(same_size, 30, 150);
  folder.temp.write("x.b2", same_size);
  set_mtime(path, 3000);
  CHECK(probe.probe(folder.fd.get(), "x.b2")->summary.nbytes == 150);
  folder.temp.write("x.b2", "text");
  CHECK_FALSE(probe.probe(folder.fd.get(), "x.b2")->summary.is_frame);
}

// Oracle: bytes that were swapped without a change of identity are not seen, so they were not read.
TEST_CASE("frame_probe: a file in a known state is not read again", "[fs][frame_probe][unit]") {
  const Folder folder;
  const auto path = folder.temp.write("x.b2", test::small_frame(100));
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  FrameProbe probe;
  const FileIdentity state{.device = 1, .inode = 2, .size = 3, .mtime_ns = 4, .ctime_ns = 5};
  CHECK(probe.probe_open(file.get(), state).nbytes == 100);
  folder.temp.write("x.b2", test::small_frame(200));
  CHECK(probe.probe_open(file.get(), state).nbytes == 100);
  auto later = state;
  ++later.ctime_ns;
  CHECK(probe.probe_open(file.get(), later).nbytes == 200);
}

TEST_CASE("frame_probe: chunks that vary have no size to show", "[fs][frame_probe][unit]") {
  const Folder folder;
  test::FrameSpec spec;
  test::ChunkSpec chunk;
  spec.chunks = {test::stored_chunk(test::noise(100, 1), chunk),
                 test::stored_chunk(test::noise(8, 1), chunk)};
  folder.temp.write("x.b2", test::build_frame(spec).bytes);
  FrameProbe probe;
  const auto file = probe.probe(folder.fd.get(), "x.b2");
  CHECK(file->summary.nbytes == 108);
  CHECK(file->summary.chunksize == 0);
}

TEST_CASE("frame_probe: many threads find the same", "[fs][frame_probe][race]") {
  const Folder folder;
  for (std::size_t i = 0; i < 20; ++i) {
    folder.temp.write(std::to_string(i) + ".b2", test::small_frame(100 + i));
  }
  FrameProbe probe;
  std::vector<int> wrong(8);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    for (std::size_t i = 0; i < 20; ++i) {
      const auto file = probe.probe(folder.fd.get(), std::to_string(i) + ".b2");
      if (!file || file->summary.nbytes != 100 + i) ++wrong[thread];
    }
  });
  CHECK(wrong == std::vector<int>(8));
}

}  // namespace
}  // namespace framefs::fs

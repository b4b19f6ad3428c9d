#include "fs/write/commit/sparse_backend.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "codec/core/byte_writer.h"
#include "codec/frame/chunk_space.h"
#include "fs/write/frame_write_session.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/frame_builder.h"
#include "tests/support/read_file.h"
#include "tests/support/sample_data.h"
#include "tests/support/sparse_frame_builder.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::sparse_backend_test {
namespace {

constexpr std::size_t kChunk = 4096;

test::FrameSpec spec_of(const test::Bytes& chunk, std::size_t count) {
  test::ChunkSpec stored;
  stored.typesize = 1;
  test::FrameSpec spec;
  spec.chunksize = kChunk;
  spec.typesize = 1;
  spec.chunks.assign(count, test::stored_chunk(chunk, stored));
  return spec;
}

// A writer of a sparse frame that has `count` times the same chunk.
struct WrittenFrame {
  explicit WrittenFrame(std::size_t count) {
    test::write_sparse_frame(path, test::build_sparse_frame(spec_of(chunk, count)));
    session = mount.open(path);
  }
  const test::TempDirectory folder;
  const std::filesystem::path path = folder.path() / "x.b2frame";
  const test::Bytes chunk = test::noise(kChunk, 1);
  test::WriteMount mount;
  std::shared_ptr<FrameWriteSession> session;
};

}  // namespace

TEST_CASE("sparse_backend: a frame whose header names a wrong number of bytes stays readable",
          "[fs][write][unit]") {
  // The commit subtracts from the one and adds to the other.
  const std::int64_t stored_bytes =
      GENERATE(std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
  CAPTURE(stored_bytes);
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  const auto chunk = test::noise(kChunk, 1);
  const auto spec = spec_of(chunk, 3);
  auto built = test::build_sparse_frame(spec);
  // Source: frame format, "Header": the size of the stored chunks is at byte 39, big-endian.
  codec::store_be(built.index_file.data() + 39, stored_bytes);
  test::write_sparse_frame(path, built);
  test::Bytes wanted;
  for (std::size_t i = 0; i < spec.chunks.size(); ++i) test::append(wanted, chunk);
  test::WriteMount mount;
  const auto session = mount.open(path);
  if (stored_bytes == 0) {
    // The new chunk is smaller than the one that it replaces.
    const test::Bytes zeros(kChunk);
    test::write_at(*session, kChunk, zeros);
    std::ranges::copy(zeros, wanted.begin() + kChunk);
  } else {
    test::write_at(*session, wanted.size(), chunk);
    test::append(wanted, chunk);
  }
  REQUIRE(session->commit(true));
  CHECK(test::read_stored(path) == wanted);
}

TEST_CASE("sparse_backend: a commit without numbers for its files leaves all stored chunks",
          "[fs][write][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  const auto chunk = test::noise(kChunk, 1);
  const auto spec = spec_of(chunk, 4);
  const std::vector<std::uint32_t> ids = {0, 1, 2, codec::kMaxChunkFileId - 1};
  test::write_sparse_frame(path, test::build_sparse_frame(spec, ids));
  test::Bytes before;
  for (std::size_t i = 0; i < ids.size(); ++i) test::append(before, chunk);
  {
    test::WriteMount mount;
    const auto session = mount.open(path);
    const auto other = test::noise(3 * kChunk, 2);
    test::write_at(*session, 0, other);
    CHECK_FALSE(session->commit(true));
  }
  CHECK(test::read_stored(path) == before);
}

// How many files in a folder this process has open for writing.
std::size_t open_for_writing(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto path = std::filesystem::read_symlink(entry.path(), gone);
    if (gone || path.parent_path() != folder) continue;
    const auto fd = std::stoi(entry.path().filename());
    if ((::fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) ++count;
  }
  return count;
}

// The kernel may forget a failed write of a file that nobody has open.
TEST_CASE("sparse_backend: chunk files are open until they are synced, but not too many of them",
          "[fs][write][unit]") {
  constexpr std::size_t kMost = 32;
  const WrittenFrame frame(1);
  for (std::uint64_t i = 1; i < 6; ++i) test::write_at(*frame.session, i * kChunk, frame.chunk);
  REQUIRE(frame.session->flush());
  CHECK(open_for_writing(frame.path) == 5);
  REQUIRE(frame.session->commit(true));
  CHECK(open_for_writing(frame.path) == 0);
  for (std::uint64_t i = 6; i < 6 + 3 * kMost; ++i) {
    test::write_at(*frame.session, i * kChunk, frame.chunk);
  }
  REQUIRE(frame.session->flush());
  CHECK(open_for_writing(frame.path) < kMost);
}

TEST_CASE("sparse_backend: no commit refers to a chunk file that another program has removed",
          "[fs][write][unit]") {
  const WrittenFrame frame(1);
  test::write_at(*frame.session, kChunk, frame.chunk);
  REQUIRE(frame.session->flush());
  REQUIRE(std::filesystem::remove(frame.path / test::chunk_file_name(1)));
  CHECK_FALSE(frame.session->commit(true));
  CHECK(test::read_stored(frame.path) == frame.chunk);
}

TEST_CASE("sparse_backend: given up changes leave no file of theirs", "[fs][write][unit]") {
  const WrittenFrame frame(2);
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& item : std::filesystem::directory_iterator(frame.path)) {
      names.push_back(item.path().filename());
    }
    std::ranges::sort(names);
    return names;
  };
  const auto before = files();
  test::write_at(*frame.session, 0, test::noise(kChunk, 2));
  REQUIRE(frame.session->flush());
  {
    const test::FileSizeLimit limit(20);  // fewer bytes than an index file has
    CHECK_FALSE(frame.session->commit(true));
  }
  CHECK(files() != before);
  frame.session->discard();
  CHECK(files() == before);
}

TEST_CASE("sparse_backend: given up changes leave the new index of another writer",
          "[fs][write][unit]") {
  const WrittenFrame frame(2);
  test::write_at(*frame.session, 0, test::noise(kChunk, 2));
  REQUIRE(frame.session->flush());
  // The other writer has committed once, and prepares its next commit.
  const auto next = frame.path / "chunks.b2frame.tmp";
  std::filesystem::copy_file(frame.path / "chunks.b2frame", next);
  std::filesystem::rename(next, frame.path / "chunks.b2frame");
  std::filesystem::copy_file(frame.path / "chunks.b2frame", next);
  frame.session->discard();
  CHECK(std::filesystem::exists(next));
}

TEST_CASE("sparse_backend: a file with the name of the next chunk file is left alone",
          "[fs][write][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  const auto chunk = test::noise(kChunk, 1);
  test::write_sparse_frame(path, test::build_sparse_frame(spec_of(chunk, 1)));
  const auto elsewhere = folder.write("elsewhere", "content of another file");
  const auto name = [&](std::uint32_t id) { return path / test::chunk_file_name(id); };
  REQUIRE(::mkfifo(name(1).c_str(), 0600) == 0);
  std::filesystem::create_hard_link(elsewhere, name(2));
  std::filesystem::create_symlink(elsewhere, name(3));
  std::filesystem::create_symlink(folder.path() / "made", name(4));
  std::filesystem::create_directory(name(5));
  test::Bytes wanted;
  {
    test::WriteMount mount;
    const auto session = mount.open(path);
    // Numbers become free with the commits after the one that no longer needs them.
    for (unsigned i = 0; i < 8; ++i) {
      wanted = test::noise(kChunk, 2 + i);
      test::write_at(*session, 0, wanted);
      REQUIRE(session->commit(true));
    }
  }
  CHECK(test::read_stored(path) == wanted);
  CHECK(test::read_file(elsewhere) == "content of another file");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "made"));
  for (std::uint32_t id = 1; id <= 5; ++id) {
    CHECK(std::filesystem::symlink_status(name(id)).type() !=
          std::filesystem::file_type::not_found);
  }
}

}  // namespace framefs::fs::sparse_backend_test

#include "fs/source/named_source.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs::named_source_test {
namespace {

namespace stdfs = std::filesystem;

// A path that was opened, and the frame there, if any.
struct Opened {
  Result<NamedSource> named;
  Result<codec::Frame> frame;
};

class Folder {
 public:
  Opened open(const stdfs::path& name, std::uint64_t offset = 0) {
    Opened opened{open_named_source(folder_.path() / name, offset, {}, log_.log()),
                  codec::fail(Errc::internal, "no frame")};
    if (!opened.named) return opened;
    if (const auto* const origin = std::get_if<FrameOrigin>(&opened.named->found)) {
      opened.frame = open_frame_at(*origin, {});
    }
    return opened;
  }
  int error_of(const stdfs::path& name, std::uint64_t offset = 0) {
    const auto opened = open(name, offset);
    return opened.named ? 0 : opened.named.error().sys;
  }
  const test::TempDirectory& folder() const { return folder_; }

 private:
  test::TempDirectory folder_;
  test::TestLog log_;
};

TEST_CASE("named source: a frame is found under any name, and by way of a link",
          "[fs][named_source][unit]") {
  Folder folder;
  folder.folder().write("x.b2frame", test::small_frame(2500));
  folder.folder().write("data.bin", test::small_frame(1700));
  stdfs::create_symlink("x.b2frame", folder.folder().path() / "link");
  CHECK(folder.open("x.b2frame").frame->nbytes() == 2500);
  CHECK(folder.open("data.bin").frame->nbytes() == 1700);
  CHECK(folder.open("link").frame->nbytes() == 2500);
  CHECK(folder.open("x.b2frame").named->member.empty());
}

TEST_CASE("named source: an offset finds the frame behind other bytes",
          "[fs][named_source][unit]") {
  Folder folder;
  test::Bytes bytes(777);
  test::append(bytes, test::small_frame(2500));
  folder.folder().write("x.bin", bytes);
  const auto opened = folder.open("x.bin", 777);
  REQUIRE(opened.frame);
  CHECK(opened.frame->nbytes() == 2500);
  CHECK_FALSE(folder.open("x.bin").frame);
  CHECK_FALSE(folder.open("x.bin", 100'000).frame);
}

TEST_CASE("named source: a file that is not a frame opens, and its frame holds the error",
          "[fs][named_source][corrupt]") {
  Folder folder;
  folder.folder().write("text",
                        std::string_view("no frame, but long enough to be one, were it one"));
  folder.folder().write("empty", std::string_view(""));
  folder.folder().write("damaged.b2frame", test::damaged_frame());
  for (const auto* const name : {"text", "empty", "damaged.b2frame"}) {
    CAPTURE(name);
    const auto opened = folder.open(name);
    REQUIRE(opened.named);
    REQUIRE_FALSE(opened.frame);
    CHECK(opened.frame.error().kind != Errc::internal);
  }
}

TEST_CASE("named source: the system's reasons are its own", "[fs][named_source][unit]") {
  Folder folder;
  folder.folder().write("x.b2frame", test::small_frame(2500));
  stdfs::create_directory(folder.folder().path() / "dir");
  stdfs::create_directory(folder.folder().path() / "dir.b2frame");
  REQUIRE(::mkfifo((folder.folder().path() / "fifo").c_str(), 0600) == 0);
  CHECK(folder.error_of("nowhere") == ENOENT);
  CHECK(folder.error_of("dir") == EISDIR);
  CHECK(folder.error_of("dir.b2frame") == EISDIR);
  CHECK(folder.error_of("fifo") == EINVAL);
  CHECK(folder.error_of("x.b2frame/further") == ENOTDIR);
  CHECK(folder.error_of("dir/nowhere") == ENOENT);
}

TEST_CASE("named source: an offset into a directory is refused", "[fs][named_source][unit]") {
  Folder folder;
  const auto sparse = folder.folder().path() / "s.b2frame";
  stdfs::create_directory(sparse);
  folder.folder().write("s.b2frame/chunks.b2frame", test::sparse_index(2500));
  CHECK(folder.open("s.b2frame").named);
  CHECK(folder.error_of("s.b2frame", 10) == EINVAL);
}

}  // namespace
}  // namespace framefs::fs::named_source_test

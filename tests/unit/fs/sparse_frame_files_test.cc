#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "fs/source/sparse_frame.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace framefs::fs::sparse_frame_files_test {
namespace {

namespace stdfs = std::filesystem;

class Folder {
 public:
  explicit Folder(const std::vector<std::string>& names) {
    stdfs::create_directory(root_.path() / "f.b2frame");
    for (const auto& name : names) root_.write("f.b2frame/" + name, "x");
  }
  [[nodiscard]] UniqueFd parent() const {
    return UniqueFd(::open(root_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  [[nodiscard]] UniqueFd open() const {
    return UniqueFd(::open((root_.path() / "f.b2frame").c_str(), O_RDONLY | O_CLOEXEC));
  }
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(stdfs::directory_iterator(root_.path() / "f.b2frame"), {});
  }
  [[nodiscard]] bool is_there() const { return stdfs::exists(root_.path() / "f.b2frame"); }

 private:
  test::TempDirectory root_;
};

TEST_CASE("sparse_frame_files: chunk files and lock files are parts of the frame",
          "[fs][sparse_frame_files][unit]") {
  const Folder folder({"chunks.b2frame", "00000000.chunk", "0000ABCD.chunk", ".b2lock"});
  auto parts = sparse_parts(folder.open().get());
  REQUIRE(parts);
  CHECK_FALSE(parts->has_others);
  std::ranges::sort(parts->names);
  CHECK(parts->names == std::vector<std::string>{".b2lock", "00000000.chunk", "0000ABCD.chunk"});
  REQUIRE(remove_sparse_frame(folder.parent().get(), "f.b2frame"));
  CHECK_FALSE(folder.is_there());
}

TEST_CASE("sparse_frame_files: nothing is removed while files of others are there",
          "[fs][sparse_frame_files][unit]") {
  for (const auto* const other : {"notes", "0000000.chunk", "000000000.chunk", "0000abcd.chunk",
                                  "00000000.chunk2", "0000000G.chunk", "chunks.b2frame.new"}) {
    CAPTURE(other);
    const Folder folder({"chunks.b2frame", "00000000.chunk", other});
    const auto removed = remove_sparse_frame(folder.parent().get(), "f.b2frame");
    REQUIRE_FALSE(removed);
    CHECK(removed.error().sys == ENOTEMPTY);
    CHECK(folder.entries() == 3);
  }
}

}  // namespace
}  // namespace framefs::fs::sparse_frame_files_test

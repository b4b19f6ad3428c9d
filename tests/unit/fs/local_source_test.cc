// The promises of fs/source/source.h, kept by the implementation that is a local directory.

#include "fs/source/local_source.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"

namespace framefs::fs {
namespace {

namespace stdfs = std::filesystem;

struct Folder {
  Folder() {
    temp.write("one", test::noise(1000, 1));
    stdfs::create_directories(temp.path() / "sub/deep");
    temp.write("sub/two", test::noise(200, 2));
    stdfs::create_symlink("one", temp.path() / "link");
  }
  [[nodiscard]] LocalSource source() const {
    auto root = SourceRoot::open_directory(temp.path());
    REQUIRE(root);
    return LocalSource(std::move(*root));
  }
  test::TempDirectory temp;
};

std::vector<std::string> names(const Source& source, const std::string& path) {
  const auto items = source.list(path);
  REQUIRE(items);
  std::vector<std::string> names;
  for (const auto& item : *items) names.push_back(item.name);
  std::ranges::sort(names);
  return names;
}

template <class T>
int error_of(const Result<T>& result) {
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == Errc::system);
  return result.error().sys;
}

TEST_CASE("local_source: directories are listed by path", "[fs][local_source][unit]") {
  const Folder folder;
  const auto source = folder.source();
  CHECK(names(source, "") == std::vector<std::string>{"link", "one", "sub"});
  CHECK(names(source, "sub") == std::vector<std::string>{"deep", "two"});
  CHECK(names(source, "sub/deep").empty());
  CHECK(error_of(source.list("one")) == ENOTDIR);
  CHECK(error_of(source.list("none")) == ENOENT);
}

TEST_CASE("local_source: an entry keeps its identity, and each state has a version of its own",
          "[fs][local_source][unit]") {
  const Folder folder;
  const auto source = folder.source();
  const auto before = source.stat("one");
  REQUIRE(before);
  CHECK(before->stat.st_size == 1000);
  CHECK(source.stat("one")->version == before->version);
  folder.temp.write("one", test::noise(1001, 3));
  const auto after = source.stat("one");
  REQUIRE(after);
  CHECK(after->stat.st_ino == before->stat.st_ino);
  CHECK_FALSE(after->version == before->version);
  CHECK(S_ISLNK(source.stat("link")->stat.st_mode));
  CHECK(S_ISDIR(source.stat("")->stat.st_mode));
  CHECK(error_of(source.stat("sub/none")) == ENOENT);
  CHECK(error_of(source.stat("one/below")) == ENOTDIR);
}

TEST_CASE("local_source: what is opened is read in the version that it has",
          "[fs][local_source][unit]") {
  const Folder folder;
  const auto source = folder.source();
  const auto opened = source.open("sub/two");
  REQUIRE(opened);
  CHECK(opened->at.version == source.stat("sub/two")->version);
  REQUIRE(opened->bytes->size() == 200U);
  test::Bytes bytes(200);
  REQUIRE(opened->bytes->read_at(0, bytes));
  CHECK(bytes == test::noise(200, 2));
  // It can be read to its end when its name is gone.
  stdfs::remove(folder.temp.path() / "sub/two");
  CHECK(opened->bytes->read_at(0, bytes));
  CHECK(error_of(source.open("sub/two")) == ENOENT);
  CHECK(error_of(source.open("sub")) == EISDIR);
  CHECK(error_of(source.open("link")) == ELOOP);
}

}  // namespace
}  // namespace framefs::fs

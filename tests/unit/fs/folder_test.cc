#include "fs/source/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"

namespace framefs::fs::folder_test {
namespace {

namespace stdfs = std::filesystem;

constexpr codec::Limits kLimits{};

UniqueFd open_directory(const stdfs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(fd);
  return fd;
}

std::map<std::string, unsigned> types_in(const Folder& folder) {
  const auto items = folder.items();
  REQUIRE(items);
  std::map<std::string, unsigned> types;
  for (const auto& item : *items) CHECK(types.emplace(item.name, item.type).second);
  return types;
}

TEST_CASE("folder: all entries of a directory on disk are there, as they are",
          "[fs][folder][unit]") {
  const test::TempDirectory temp;
  temp.write("x.b2", test::small_frame(100));
  temp.write(".hidden", "text");
  temp.write("x.b2.b2lock", "");
  stdfs::create_directory(temp.path() / "sub");
  stdfs::create_symlink("x.b2", temp.path() / "link");
  SourceProbe probe(kLimits);
  const DiskFolder folder(open_directory(temp.path()), probe);
  CHECK(types_in(folder) == std::map<std::string, unsigned>{{"x.b2", DT_REG},
                                                            {".hidden", DT_REG},
                                                            {"x.b2.b2lock", DT_REG},
                                                            {"sub", DT_DIR},
                                                            {"link", DT_LNK}});
  const auto items = folder.items();
  for (const auto& item : *items) {
    struct stat st{};
    REQUIRE(::lstat((temp.path() / item.name).c_str(), &st) == 0);
    CHECK(item.inode == st.st_ino);
  }
  CHECK(folder.probe("x.b2")->summary.nbytes == 100);
  CHECK(S_ISLNK(folder.probe("link")->stat.st_mode));
  CHECK(folder.probe("absent").error().sys == ENOENT);
  CHECK(folder.expected("x.b2nd") == Expected::array);
  CHECK(folder.expected("x") == Expected::nothing);
}

TEST_CASE("folder: a directory is listed as it is now, and from its beginning",
          "[fs][folder][unit]") {
  const test::TempDirectory temp;
  for (int i = 0; i < 300; ++i) temp.write(std::to_string(i), "");
  SourceProbe probe(kLimits);
  const DiskFolder folder(open_directory(temp.path()), probe);
  CHECK(types_in(folder).size() == 300);
  temp.write("more", "");
  CHECK(types_in(folder).size() == 301);
  CHECK(types_in(folder).size() == 301);
}

TEST_CASE("folder: a directory that was removed is empty", "[fs][folder][unit]") {
  const test::TempDirectory temp;
  stdfs::create_directory(temp.path() / "sub");
  SourceProbe probe(kLimits);
  const DiskFolder folder(open_directory(temp.path() / "sub"), probe);
  stdfs::remove(temp.path() / "sub");
  const auto items = folder.items();
  // Whether a removed folder can be opened again depends on the kernel.
  CHECK((items ? items->empty() : items.error().sys == ENOENT));
  CHECK(folder.probe("x").error().sys == ENOENT);
}

TEST_CASE("folder: a file that is not a directory has no entries", "[fs][folder][unit]") {
  const test::TempDirectory temp;
  const auto path = temp.write("file", "text");
  SourceProbe probe(kLimits);
  const DiskFolder folder(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), probe);
  CHECK(folder.items().error().sys == ENOTDIR);
  CHECK(folder.probe("x").error().sys == ENOTDIR);
}

TEST_CASE("folder: looked at once, it has no names that came later", "[fs][folder][unit]") {
  const test::TempDirectory temp;
  temp.write("there", "");
  SourceProbe probe(kLimits);
  const DiskFolder folder(open_directory(temp.path()), probe);
  const NegativeLookupCache once(folder);
  CHECK(once.probe("x.b2").error().sys == ENOENT);
  temp.write("x.b2", test::small_frame(100));
  CHECK(once.probe("x.b2").error().sys == ENOENT);
  CHECK(folder.probe("x.b2"));
  CHECK(NegativeLookupCache(folder).probe("x.b2")->summary.nbytes == 100);
  CHECK(once.probe("there"));
  stdfs::remove(temp.path() / "there");
  CHECK(once.probe("there").error().sys == ENOENT);
  CHECK(types_in(once) == types_in(folder));
  CHECK(once.expected("x.b2") == Expected::frame);
}

TEST_CASE("folder: one entry alone has no neighbours", "[fs][folder][unit]") {
  const test::TempDirectory temp;
  temp.write("frame", test::small_frame(100));
  temp.write("other", test::small_frame(100));
  test::write_sparse_frame(temp.path() / "sparse", test::small_sparse_frame(100));
  SourceProbe probe(kLimits);
  for (const std::string name : {"frame", "sparse"}) {
    CAPTURE(name);
    const SingleEntryFolder folder(open_directory(temp.path()), name, Expected::frame, probe);
    CHECK(types_in(folder) ==
          std::map<std::string, unsigned>{{name, name == "frame" ? DT_REG : DT_DIR}});
    const auto entry = folder.probe(name);
    REQUIRE(entry);
    CHECK(entry->summary.content == Content::frame);
    CHECK(entry->summary.nbytes == 100);
    for (const auto* const absent : {"other", "", ".", "..", "frame/", "./frame"}) {
      CHECK(folder.probe(absent).error().sys == ENOENT);
    }
    CHECK(folder.expected(name) == Expected::frame);
  }
}

TEST_CASE("folder: one entry that is gone is no entry", "[fs][folder][unit]") {
  const test::TempDirectory temp;
  SourceProbe probe(kLimits);
  const SingleEntryFolder folder(open_directory(temp.path()), "frame", Expected::frame, probe);
  CHECK(folder.items().error().sys == ENOENT);
  CHECK(folder.probe("frame").error().sys == ENOENT);
}

}  // namespace
}  // namespace framefs::fs::folder_test

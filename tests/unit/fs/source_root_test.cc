#include "fs/source/source_root.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace framefs::fs::source_root_test {
namespace {

namespace stdfs = std::filesystem;

std::string content(const Result<UniqueFd>& file) {
  if (!file) return "no file";
  std::array<char, 100> bytes{};
  const auto size = ::pread(file->get(), bytes.data(), bytes.size(), 0);
  return size < 0 ? "unreadable" : std::string(bytes.data(), static_cast<std::size_t>(size));
}

int refusal(const Result<UniqueFd>& file) { return file ? 0 : file.error().sys; }

// outside
// source/: file, sub/: file
//   to_file -> file, to_sub -> sub, to_outside -> .., absolute -> the temporary folder
struct Tree {
  Tree() {
    temp.write("outside", "secret");
    stdfs::create_directories(temp.path() / "source/sub");
    temp.write("source/file", "top");
    temp.write("source/sub/file", "below");
    stdfs::create_symlink("file", temp.path() / "source/to_file");
    stdfs::create_symlink("sub", temp.path() / "source/to_sub");
    stdfs::create_symlink("..", temp.path() / "source/to_outside");
    stdfs::create_symlink(temp.path(), temp.path() / "source/absolute");
  }
  [[nodiscard]] SourceRoot root() const {
    auto opened = SourceRoot::open_directory(temp.path() / "source");
    REQUIRE(opened);
    return std::move(*opened);
  }
  test::TempDirectory temp;
};

TEST_CASE("source_root: entries below a directory can be opened", "[fs][source_root][unit]") {
  const Tree tree;
  const auto root = tree.root();
  CHECK(root.path() == ".");
  CHECK(content(root.open("file", O_RDONLY)) == "top");
  CHECK(content(root.open("sub/file", O_RDONLY)) == "below");
  CHECK(content(root.open("sub/../file", O_RDONLY)) == "top");
  CHECK(root.open(root.path(), O_RDONLY | O_DIRECTORY));
  CHECK(refusal(root.open("missing", O_RDONLY)) == ENOENT);
  CHECK(refusal(root.open("file/x", O_RDONLY)) == ENOTDIR);
  CHECK(refusal(root.open("file", O_RDONLY | O_DIRECTORY)) == ENOTDIR);
  CHECK(refusal(root.open("", O_RDONLY)) == ENOENT);
  const auto file = root.open("file", O_RDONLY);
  REQUIRE(file);
  CHECK((::fcntl(file->get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("source_root: nothing outside can be opened", "[fs][source_root][unit]") {
  const Tree tree;
  const auto root = tree.root();
  const auto absolute = (tree.temp.path() / "outside").string();
  for (const auto& path :
       std::vector<std::string>{"..", "../outside", "sub/../../outside", absolute}) {
    CAPTURE(path);
    CHECK(refusal(root.open(path, O_RDONLY)) == EXDEV);
    CHECK(refusal(root.open(path, O_PATH | O_NOFOLLOW)) == EXDEV);
  }
}

TEST_CASE("source_root: no link is followed, wherever it leads", "[fs][source_root][unit]") {
  const Tree tree;
  const auto root = tree.root();
  for (const auto* const path : {"to_file", "to_sub", "to_outside", "absolute", "to_sub/file",
                                 "to_outside/outside", "absolute/outside", "sub/../to_sub/file"}) {
    CAPTURE(path);
    CHECK(refusal(root.open(path, O_RDONLY)) == ELOOP);
  }
  const auto link = root.open("to_file", O_PATH | O_NOFOLLOW);
  REQUIRE(link);
  const auto st = stat_of(link->get());
  REQUIRE(st);
  CHECK(S_ISLNK(st->st_mode));
  CHECK(refusal(root.open("to_sub/file", O_PATH | O_NOFOLLOW)) == ELOOP);
}

TEST_CASE("source_root: SOURCE may be an entry of a directory, or be named by a link",
          "[fs][source_root][unit]") {
  const Tree tree;
  const auto source = tree.temp.path() / "source";
  const auto file = SourceRoot::open_entry(source / "file");
  REQUIRE(file);
  CHECK(file->path() == "file");
  CHECK(content(file->open(file->path(), O_RDONLY)) == "top");
  const auto folder = SourceRoot::open_entry(source / "sub");
  REQUIRE(folder);
  CHECK(folder->path() == "sub");
  CHECK(content(folder->open("sub/file", O_RDONLY)) == "below");
  const auto slash = SourceRoot::open_entry(source / "sub/");
  REQUIRE(slash);
  CHECK(slash->path() == "sub");
  const auto link = SourceRoot::open_directory(source / "to_sub");
  REQUIRE(link);
  CHECK(link->path() == ".");
  CHECK(content(link->open("file", O_RDONLY)) == "below");
  const auto file_link = SourceRoot::open_entry(source / "to_file");
  REQUIRE(file_link);
  CHECK(file_link->path() == "file");
  const auto far_link = SourceRoot::open_entry(source / "absolute/outside");
  REQUIRE(far_link);
  CHECK(content(far_link->open(far_link->path(), O_RDONLY)) == "secret");
}

TEST_CASE("source_root: the root of all is an entry of nothing", "[fs][source_root][unit]") {
  const auto all = SourceRoot::open_entry("/");
  REQUIRE(all);
  CHECK(all->path() == ".");
  CHECK(all->open(".", O_RDONLY | O_DIRECTORY));
}

TEST_CASE("source_root: an entry that does not exist cannot be opened", "[fs][source_root][unit]") {
  const Tree tree;
  for (const auto& [path, expected] :
       std::vector<std::pair<std::string, int>>{{"missing", ENOENT}, {"outside/x", ENOTDIR}}) {
    CAPTURE(path);
    const auto entry = SourceRoot::open_entry(tree.temp.path() / path);
    REQUIRE_FALSE(entry);
    CHECK(entry.error().sys == expected);
    const auto directory = SourceRoot::open_directory(tree.temp.path() / path);
    REQUIRE_FALSE(directory);
    CHECK(directory.error().sys == expected);
  }
  const auto file = SourceRoot::open_directory(tree.temp.path() / "outside");
  REQUIRE_FALSE(file);
  CHECK(file.error().sys == ENOTDIR);
}

TEST_CASE("source_root: it stays the same directory under another name",
          "[fs][source_root][unit]") {
  const Tree tree;
  const auto root = tree.root();
  stdfs::rename(tree.temp.path() / "source", tree.temp.path() / "renamed");
  stdfs::create_directory(tree.temp.path() / "source");
  tree.temp.write("source/file", "another");
  CHECK(content(root.open("file", O_RDONLY)) == "top");
}

TEST_CASE("source_root: a directory that is removed is noticed", "[fs][source_root][unit]") {
  const Tree tree;
  const auto root = tree.root();
  const auto source = tree.temp.path() / "source";
  CHECK_FALSE(root.is_removed());
  stdfs::rename(source, tree.temp.path() / "renamed");
  CHECK_FALSE(root.is_removed());
  stdfs::remove_all(tree.temp.path() / "renamed");
  CHECK(root.is_removed());
  stdfs::create_directory(source);
  CHECK(root.is_removed());
}

// Creates nested folders with 200-letter names below `root`, and opens the last one.
UniqueFd make_deep(const stdfs::path& root, int levels) {
  const std::string name(200, 'd');
  UniqueFd at(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < levels; ++level) {
    REQUIRE(::mkdirat(at.get(), name.c_str(), 0700) == 0);
    at = UniqueFd(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(at);
  }
  return at;
}

TEST_CASE("source_root: paths may be longer than the kernel takes at once",
          "[fs][source_root][unit]") {
  constexpr int kLevels = 50;
  const Tree tree;
  const auto root = tree.root();
  const auto deepest = make_deep(tree.temp.path() / "source", kLevels);
  {
    const UniqueFd file(
        ::openat(deepest.get(), "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    REQUIRE(::write(file.get(), "deep", 4) == 4);
    REQUIRE(::symlinkat("file", deepest.get(), "link") == 0);
    REQUIRE(::symlinkat("/", deepest.get(), "to_root") == 0);
  }
  std::string folder;
  for (int level = 0; level < kLevels; ++level) folder += std::string(200, 'd') + "/";
  REQUIRE(folder.size() > 2 * PATH_MAX);
  CHECK(content(root.open(folder + "file", O_RDONLY)) == "deep");
  CHECK(root.open(folder + "link", O_PATH | O_NOFOLLOW));
  CHECK(refusal(root.open(folder + "link", O_RDONLY)) == ELOOP);
  CHECK(refusal(root.open(folder + "to_root/etc", O_PATH)) == ELOOP);
  CHECK(refusal(root.open(folder + "missing", O_RDONLY)) == ENOENT);
  CHECK(refusal(root.open("to_outside/" + folder + "file", O_RDONLY)) == ELOOP);
  CHECK(refusal(root.open("../" + folder + "file", O_RDONLY)) == EXDEV);
  std::string up;
  for (int level = 0; level <= kLevels; ++level) up += "../";
  CHECK(refusal(root.open(folder + up + "outside", O_RDONLY)) == EXDEV);
  // About the length from which a path is opened in stages.  PATH_MAX counts the final zero.
  for (std::size_t dots = PATH_MAX / 2 - 8; dots < PATH_MAX / 2 + 8; ++dots) {
    std::string path = "sub/";
    for (std::size_t i = 0; i < dots; ++i) path += "./";
    path += "file";
    CAPTURE(path.size());
    CHECK(content(root.open(path, O_RDONLY)) == "below");
  }
  CHECK(refusal(root.open(std::string(300, 'x'), O_RDONLY)) == ENAMETOOLONG);
  CHECK(refusal(root.open(std::string(PATH_MAX + 10, 'x'), O_RDONLY)) == ENAMETOOLONG);
}

TEST_CASE("source_root: no opening waits for a fifo or for the holder of a lease",
          "[fs][source_root][unit]") {
  const Tree tree;
  const auto root = tree.root();
  REQUIRE(::mkfifo((tree.temp.path() / "source/fifo").c_str(), 0600) == 0);
  CHECK(root.open("fifo", O_RDONLY));
  CHECK(refusal(root.open("fifo", O_WRONLY)) == ENXIO);
  // The kernel signals the holder, which does not give the lease back.
  REQUIRE(::signal(SIGIO, SIG_IGN) != SIG_ERR);
  const UniqueFd holder(::open((tree.temp.path() / "source/file").c_str(), O_RDONLY | O_CLOEXEC));
  if (::fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) return;  // no leases on this filesystem
  CHECK(refusal(root.open("file", O_RDONLY)) == EAGAIN);
  CHECK(refusal(root.open("file", O_RDWR)) == EAGAIN);
  CHECK(root.open("file", O_PATH));
}

}  // namespace
}  // namespace framefs::fs::source_root_test

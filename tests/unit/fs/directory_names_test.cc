#include "fs/source/directory_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/test_mount.h"

namespace framefs::fs::directory_names_test {
namespace {

namespace stdfs = std::filesystem;

using Names = std::vector<std::string>;

void make_file(const stdfs::path& path) { const std::ofstream file(path); }

// A directory and the questions about it.
class Asked {
 public:
  Asked(DirectoryNames& names, const stdfs::path& path)
      : names_(names), fd_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    const auto st = stat_of(fd_.get());
    REQUIRE(st);
    key_ = file_key(*st);
  }
  [[nodiscard]] Names left_of(Names names) const {
    names_.remove_absent(fd_.get(), key_, names);
    return names;
  }
  [[nodiscard]] bool is_absent(const std::string& name) const {
    return names_.is_absent(key_, name);
  }
  [[nodiscard]] bool may_have(const std::string& name) const { return !left_of({name}).empty(); }
  void make_known() const {
    for (std::size_t i = 0; i < DirectoryNames::kFirstListing; ++i) {
      static_cast<void>(left_of({"absent"}));
    }
  }
  // Whether the filesystem for temporary files is one whose names are remembered.
  [[nodiscard]] bool is_known() const {
    make_known();
    if (!may_have("absent")) return true;
    WARN("the names of directories are not remembered on this filesystem");
    return false;
  }

 private:
  DirectoryNames& names_;
  UniqueFd fd_;
  FileKey key_;
};

TEST_CASE("directory_names: absent names are removed, others stay", "[fs][directory_names][unit]") {
  const test::TempDirectory temp;
  temp.write("x", "");
  temp.write("y.b2frame", "");
  DirectoryNames names;
  const Asked asked(names, temp.path());
  CHECK(asked.left_of({"x", "absent"}) == Names{"x", "absent"});  // nothing is known yet
  CHECK_FALSE(asked.is_absent("absent"));
  if (!asked.is_known()) return;
  CHECK(names.directories() == 1);
  CHECK(asked.left_of({"x", "x.b2frame", "y", "y.b2frame"}) == Names{"x", "y.b2frame"});
}

TEST_CASE("directory_names: an absent name is known to be absent until it appears",
          "[fs][directory_names][unit]") {
  const test::TempDirectory temp;
  temp.write("x", "");
  DirectoryNames names;
  const Asked asked(names, temp.path());
  if (!asked.is_known()) return;
  CHECK_FALSE(asked.is_absent("x"));
  CHECK(asked.is_absent("x.b2lock"));
  temp.write("x.b2lock", "");
  CHECK_FALSE(asked.is_absent("x.b2lock"));
}

TEST_CASE("directory_names: every new name is noticed at once", "[fs][directory_names][unit]") {
  const test::TempDirectory temp;
  const auto& path = temp.path();
  stdfs::create_directory(path / "sub");
  stdfs::create_directory(path / "other");
  make_file(path / "other" / "moved");
  make_file(path / "other" / "exchanged");
  const auto sub = path / "sub";
  make_file(sub / "old");
  DirectoryNames names;
  const Asked asked(names, sub);
  if (!asked.is_known()) return;
  const auto check = [&](const std::string& name) {
    CAPTURE(name);
    CHECK(asked.may_have(name));
    CHECK_FALSE(asked.may_have(name + ".b2frame"));
  };
  make_file(sub / "file");
  check("file");
  stdfs::create_directory(sub / "directory");
  check("directory");
  stdfs::create_symlink("target", sub / "symlink");
  check("symlink");
  stdfs::create_hard_link(sub / "file", sub / "link");
  check("link");
  REQUIRE(::mkfifo((sub / "fifo").c_str(), 0600) == 0);
  check("fifo");
  stdfs::rename(sub / "old", sub / "renamed");
  check("renamed");
  stdfs::rename(path / "other" / "moved", sub / "moved");
  check("moved");
  REQUIRE(::renameat2(AT_FDCWD, (path / "other" / "exchanged").c_str(), AT_FDCWD,
                      (sub / "file").c_str(), RENAME_EXCHANGE) == 0);
  check("file");
  const UniqueFd nameless(::open(sub.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  REQUIRE(nameless);
  REQUIRE(::linkat(AT_FDCWD, path_of_fd(nameless.get()).c_str(), AT_FDCWD, (sub / "linked").c_str(),
                   AT_SYMLINK_FOLLOW) == 0);
  check("linked");
}

TEST_CASE("directory_names: a name that is gone and comes back is there",
          "[fs][directory_names][unit]") {
  const test::TempDirectory temp;
  DirectoryNames names;
  const Asked asked(names, temp.path());
  if (!asked.is_known()) return;
  for (int i = 0; i < 3; ++i) {
    temp.write("x", "");
    CHECK(asked.may_have("x"));
    stdfs::remove(temp.path() / "x");
  }
}

TEST_CASE("directory_names: lost reports hide no name", "[fs][directory_names][unit]") {
  const test::TempDirectory temp;
  DirectoryNames names;
  const Asked asked(names, temp.path());
  if (!asked.is_known()) return;
  std::size_t queue = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> queue;
  REQUIRE(queue > 0);
  // Two names in turn, because the kernel joins equal reports.
  const auto names_in_turn = {temp.path() / "a", temp.path() / "b"};
  for (std::size_t i = 0; i <= queue / 2; ++i) {
    for (const auto& each : names_in_turn) {
      REQUIRE(::mkdir(each.c_str(), 0700) == 0);
      REQUIRE(::rmdir(each.c_str()) == 0);
    }
  }
  temp.write("x", "");
  CHECK(asked.may_have("x"));
  CHECK(names.directories() == 0);
}

TEST_CASE("directory_names: a directory with the number of a removed one is another",
          "[fs][directory_names][unit]") {
  const test::TempDirectory temp;
  DirectoryNames names;
  const auto path = temp.path() / "sub";
  // Many filesystems give the number of the removed directory to the next one.
  for (int i = 0; i < 3; ++i) {
    stdfs::create_directory(path);
    make_file(path / std::to_string(i));
    const Asked asked(names, path);
    CHECK(asked.may_have(std::to_string(i)));
    asked.make_known();
    CHECK(asked.may_have(std::to_string(i)));
    stdfs::remove_all(path);
  }
}

TEST_CASE("directory_names: names and directories are bounded", "[fs][directory_names][unit]") {
  const test::TempDirectory temp;
  DirectoryNames names({.names = 100, .directories = 4});
  const Asked top(names, temp.path());
  if (!top.is_known()) return;
  for (int i = 0; i < 8; ++i) {
    const auto path = temp.path() / std::to_string(i);
    stdfs::create_directory(path);
    make_file(path / "x");
    const Asked asked(names, path);
    CHECK(asked.is_known());
    CHECK(asked.may_have("x"));
    CHECK(names.directories() <= 4);
  }
  // The last directory grows past the limit.
  const auto path = temp.path() / "7";
  const Asked asked(names, path);
  for (int i = 0; i < 200; ++i) {
    make_file(path / std::to_string(i));
    CHECK(asked.may_have(std::to_string(i)));
  }
  CHECK(names.directories() == 0);
  asked.make_known();
  CHECK(names.directories() == 0);
  CHECK(asked.may_have("absent"));
}

TEST_CASE("directory_names: no thread misses a name, whatever is forgotten meanwhile",
          "[fs][directory_names][race]") {
  const test::TempDirectory temp;
  constexpr int kThreads = 4;
  // Directories are forgotten and listed again all the time.
  DirectoryNames names({.names = 300, .directories = 2});
  std::vector<Asked> directories;
  for (int i = 0; i < 3; ++i) {
    stdfs::create_directory(temp.path() / std::to_string(i));
    directories.emplace_back(names, temp.path() / std::to_string(i));
  }
  std::atomic<int> missed{0};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2000; ++i) {
        const auto which = static_cast<std::size_t>(i) % directories.size();
        const auto name = std::to_string(thread) + "-" + std::to_string(i % 50);
        const auto path = temp.path() / std::to_string(which) / name;
        ::mkdir(path.c_str(), 0700);
        if (!directories[which].may_have(name)) ++missed;
        if (i % 2 == 0) ::rmdir(path.c_str());
      }
    });
  }
  threads.clear();
  CHECK(missed == 0);
}

TEST_CASE("filesystem: changes of names in SOURCE show at once in a directory with known names",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2frame", test::small_frame(100));
  for (std::size_t i = 0; i < 2 * DirectoryNames::kFirstListing; ++i) {
    CHECK(mount.lookup_error("absent") == ENOENT);
  }
  const auto frame = mount.lookup("x");
  CHECK(frame.stat.st_size == 100);
  // No change of the directory's times announces these.
  const auto settle = [&] { mount.touch("."); };
  settle();
  mount.write("x", "text");
  settle();
  CHECK(mount.lookup("x").stat.st_size == 4);
  CHECK(mount.lookup("x.b2frame").id == frame.id);
  CHECK(mount.lookup("x.b2frame").stat.st_size == 100);
  stdfs::rename(mount.path("x"), mount.path("y"));
  settle();
  CHECK(mount.lookup("x").stat.st_size == 100);
  CHECK(mount.lookup("y").stat.st_size == 4);
  mount.write("y.b2nd", test::small_array(10));
  CHECK(mount.lookup_error("y.npy") == 0);
  stdfs::remove(mount.path("x.b2frame"));
  CHECK(mount.lookup_error("x") == ENOENT);
  mount.write("x.b2f", test::small_frame(50));
  CHECK(mount.lookup("x").stat.st_size == 50);
}

}  // namespace
}  // namespace framefs::fs::directory_names_test

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame/frame.h"
#include "fs/tree/filesystem.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/unit/fs/test_mount.h"

namespace framefs::fs::filesystem_names_test {
namespace {

namespace stdfs = std::filesystem;

const Caller kMe{.user = ::geteuid(), .group = ::getegid()};

template <class T>
int error_of(const Result<T>& result) {
  return result ? 0 : result.error().sys;
}

// Returns the content of a shown file.  Frames and plain files are read in different ways.
test::Bytes content_of(Mount& mount, const std::string& name) {
  const auto opened = mount.open(mount.lookup(name).id);
  auto& file = *opened.file;
  test::Bytes bytes;
  if (file.node->key.has_view()) {
    bytes = mount.read(file, 0, 1u << 20).value();
  } else {
    bytes.resize(static_cast<std::size_t>(mount.fs().tree().stat_file(file)->st_size));
    REQUIRE(read_fully(file.source.fd(), 0, bytes));
  }
  mount.fs().contents().close(file);
  return bytes;
}

TEST_CASE("filesystem_names: a new file is a frame without data, whole at once",
          "[fs][filesystem_names][unit]") {
  Mount mount;
  const auto created = mount.fs().names().create_file(kRootNode, "x", 0640, O_RDWR | O_EXCL, kMe);
  REQUIRE(created);
  CHECK(S_ISREG(created->entry.stat.st_mode));
  CHECK(created->entry.stat.st_size == 0);
  CHECK(created->opened.file->node->key.shown_as == ShownAs::frame);
  const FileReader source(UniqueFd(::open(mount.path("x.b2frame").c_str(), O_RDONLY | O_CLOEXEC)));
  const auto frame = codec::Frame::open(source, codec::Limits{});
  REQUIRE(frame);
  CHECK(frame->nbytes() == 0);
  CHECK(frame->header().frame_len == static_cast<std::uint64_t>(mount.stat("x.b2frame").st_size));
  CHECK(error_of(mount.fs().names().create_file(kRootNode, "x", 0640, O_RDWR | O_EXCL, kMe)) ==
        EEXIST);
  mount.fs().contents().close(*created->opened.file);
  CHECK(mount.names() == std::vector<std::string>{"x"});
}

TEST_CASE("filesystem_names: a mount that is read-only takes nothing",
          "[fs][filesystem_names][unit]") {
  MountOptions options;
  options.read_only = true;
  Mount mount(options);
  mount.write("x.b2", test::small_frame(100));
  const auto id = mount.lookup("x").id;
  auto& fs = mount.fs();
  CHECK(fs.is_read_only());
  CHECK(error_of(fs.names().create_file(kRootNode, "n", 0600, O_RDWR, kMe)) == EROFS);
  CHECK(error_of(fs.names().make_directory(kRootNode, "n", 0700, kMe)) == EROFS);
  CHECK(error_of(fs.names().make_symlink(kRootNode, "n", "x", kMe)) == EROFS);
  CHECK(error_of(fs.names().make_node(kRootNode, "n", S_IFIFO | 0600, 0, kMe)) == EROFS);
  CHECK(error_of(fs.names().make_link(id, kRootNode, "n")) == EROFS);
  CHECK(error_of(fs.names().rename(kRootNode, "x", kRootNode, "n", 0)) == EROFS);
  CHECK(error_of(fs.names().remove_file(kRootNode, "x")) == EROFS);
  CHECK(error_of(fs.names().remove_directory(kRootNode, "x")) == EROFS);
  CHECK(error_of(fs.attributes().set(id, {}, nullptr)) == EROFS);
  CHECK(error_of(fs.attributes().set_xattr(id, "user.x", {}, 0, nullptr)) == EROFS);
  CHECK(error_of(fs.attributes().remove_xattr(id, "user.x")) == EROFS);
  CHECK(error_of(fs.contents().open(id, O_RDWR)) == EROFS);
  CHECK(fs.attributes().sync_directory(kRootNode));
  CHECK(mount.names() == std::vector<std::string>{"x"});
}

TEST_CASE("filesystem_names: a node follows its file, and outlives its last name",
          "[fs][filesystem_names][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(300));
  stdfs::create_directory(mount.path("d"));
  const auto file = mount.lookup("x");
  const auto folder = mount.lookup("d");
  REQUIRE(mount.fs().names().rename(kRootNode, "x", folder.id, "y", 0));
  REQUIRE(mount.fs().tree().stat_node(file.id));
  CHECK(mount.lookup("y", folder.id).id == file.id);
  CHECK(stdfs::exists(mount.path("d/y.b2")));
  REQUIRE(mount.fs().names().rename(kRootNode, "d", kRootNode, "e", 0));
  REQUIRE(mount.fs().tree().stat_node(file.id));
  REQUIRE(mount.fs().names().remove_file(folder.id, "y"));
  const auto st = mount.fs().tree().stat_node(file.id);
  REQUIRE(st);
  CHECK(st->st_size == 300);
  CHECK(st->st_nlink == 0);
  CHECK(mount.read_all(file.id) == test::noise(300, 1));
  // The name now belongs to another file.
  mount.write("e/y.b2", test::small_frame(500));
  CHECK(mount.fs().tree().stat_node(file.id)->st_size == 300);
  CHECK(mount.lookup("y", folder.id).id != file.id);
  mount.fs().tree().forget(file.id, 100);
  CHECK(error_of(mount.fs().tree().stat_node(file.id)) == ESTALE);
}

TEST_CASE("filesystem_names: of two names of a file either may go",
          "[fs][filesystem_names][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(300));
  const auto id = mount.lookup("x").id;
  const auto link = mount.fs().names().make_link(id, kRootNode, "y");
  REQUIRE(link);
  CHECK(link->id == id);
  CHECK(link->stat.st_nlink == 2);
  CHECK(stdfs::exists(mount.path("y.b2")));
  REQUIRE(mount.fs().names().remove_file(kRootNode, "y"));  // the name that the node knew last
  REQUIRE(mount.fs().tree().stat_node(id));
  CHECK(mount.fs().tree().stat_node(id)->st_nlink == 1);
  REQUIRE(mount.fs().names().make_link(id, kRootNode, "z"));
  CHECK(mount.names() == std::vector<std::string>{"x", "z"});
}

TEST_CASE("filesystem_names: a lock file goes where its frame goes",
          "[fs][filesystem_names][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(300));
  mount.write("x.b2.b2lock", "");
  REQUIRE(mount.fs().names().rename(kRootNode, "x", kRootNode, "y", 0));
  CHECK(stdfs::exists(mount.path("y.b2.b2lock")));
  CHECK_FALSE(stdfs::exists(mount.path("x.b2.b2lock")));
  mount.write("z.b2", test::small_frame(400));
  REQUIRE(mount.fs().names().rename(kRootNode, "y", kRootNode, "z", RENAME_EXCHANGE));
  CHECK(stdfs::exists(mount.path("z.b2.b2lock")));
  CHECK_FALSE(stdfs::exists(mount.path("y.b2.b2lock")));
  REQUIRE(mount.fs().names().rename(kRootNode, "z", kRootNode, "y", RENAME_EXCHANGE));
  REQUIRE(mount.fs().names().remove_file(kRootNode, "y"));
  CHECK_FALSE(stdfs::exists(mount.path("y.b2.b2lock")));
}

TEST_CASE("filesystem_names: a file that nothing can read is not committed",
          "[fs][filesystem_names][unit]") {
  MountOptions options;
  options.write.commit_interval_ms = 3'600'000;
  Mount mount(options);
  const bool is_closed_first = GENERATE(false, true);
  auto created = mount.fs().names().create_file(kRootNode, "x", 0640, O_RDWR, kMe);
  REQUIRE(created);
  auto& file = *created->opened.file;
  REQUIRE(mount.fs().changes().write(file, 0, test::noise(50'000, 1)));
  REQUIRE(mount.fs().names().remove_file(kRootNode, "x"));
  CHECK(mount.read(file, 0, 50'000).value() == test::noise(50'000, 1));
  if (is_closed_first) mount.fs().contents().close(file);
  mount.fs().tree().forget(created->entry.id, 1);
  if (!is_closed_first) {
    CHECK(mount.read(file, 0, 50'000).value() == test::noise(50'000, 1));
    mount.fs().contents().close(file);
  }
  created->opened.file.reset();
  CHECK_FALSE(mount.fs().has_write_sessions());
  if (is_closed_first) return;  // its commit may be under way
  CHECK(mount.fs().activity().writes.dirty_bytes == 0);
  CHECK(mount.fs().activity().writes.stored_bytes == 0);
}

TEST_CASE("filesystem_names: a file that another program creates meanwhile is opened",
          "[fs][filesystem_names][unit]") {
  Mount mount;
  mount.write("x.b2nd", "no array, but it has to be looked at");
  bool is_made = false;
  mount.watcher = [&] {
    if (!std::exchange(is_made, true)) mount.write("x.b2frame", test::small_frame(1000));
  };
  const bool is_exclusive = GENERATE(false, true);
  const auto created = mount.fs().names().create_file(
      kRootNode, "x", 0640, O_RDWR | O_CREAT | (is_exclusive ? O_EXCL : 0), kMe);
  REQUIRE(is_made);
  if (is_exclusive) {
    CHECK(error_of(created) == EEXIST);
    return;
  }
  REQUIRE(created);
  CHECK(created->entry.stat.st_size == 1000);
  mount.fs().contents().close(*created->opened.file);
}

// A POSIX model of a folder: names, and the file of each name.
class Model {
 public:
  using Names = std::map<std::string, int>;

  int remove(const std::string& name) { return names_.erase(name) == 1 ? 0 : ENOENT; }
  int link(const std::string& name, const std::string& new_name) {
    if (!names_.contains(name)) return ENOENT;
    return names_.emplace(new_name, names_.at(name)).second ? 0 : EEXIST;
  }
  int rename(const std::string& name, const std::string& new_name, unsigned flags) {
    if (!names_.contains(name)) return ENOENT;
    const bool is_taken = names_.contains(new_name);
    if (flags == RENAME_NOREPLACE && is_taken) return EEXIST;
    if (flags == RENAME_EXCHANGE && !is_taken) return ENOENT;
    if (is_taken && names_.at(name) == names_.at(new_name)) return 0;
    const int file = names_.at(name);
    if (flags == RENAME_EXCHANGE) {
      names_[name] = names_.at(new_name);
    } else {
      names_.erase(name);
    }
    names_[new_name] = file;
    return 0;
  }
  void add(const std::string& name, int file) { names_[name] = file; }
  [[nodiscard]] const Names& names() const { return names_; }

 private:
  Names names_;
};

// Oracle: the model above.  The unique content of each file identifies it.
TEST_CASE("filesystem_names: any sequence of changes has the result that POSIX defines",
          "[fs][filesystem_names][unit][long]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto draw = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  const std::vector<std::string> suffixes = {".b2frame", ".b2f", ".b2", ".b2b"};
  for (int round = 0; round < 60; ++round) {
    Mount mount;
    Model model;
    for (int file = 0; file < 4; ++file) {
      const auto& name = names[static_cast<std::size_t>(file)];
      const auto size = std::size_t{100} + static_cast<std::size_t>(file);
      const auto source = name + suffixes[draw(4)];
      switch (draw(3)) {
        case 0:
          mount.write(source, test::small_frame(size));
          break;
        case 1:
          mount.write(source, test::small_sparse_frame(size));
          break;
        default:
          mount.write(name, test::noise(size, 1));
      }
      model.add(name, file);
    }
    std::string history;
    for (int step = 0; step < 12; ++step) {
      const auto& name = names[draw(5)];
      const auto& other = names[draw(5)];
      auto& fs = mount.fs();
      const auto what = draw(6);
      history += std::to_string(what) + name + other + " ";
      CAPTURE(round, history);
      if (what == 0) {
        CHECK(error_of(fs.names().remove_file(kRootNode, name)) == model.remove(name));
      } else if (what == 1) {
        const auto found = fs.tree().lookup(kRootNode, name);
        const auto linked =
            found ? error_of(fs.names().make_link(found->id, kRootNode, other)) : ENOENT;
        // A sparse frame can have only one name.
        if (linked != EPERM) CHECK(linked == model.link(name, other));
      } else {
        const unsigned flags[] = {0, RENAME_NOREPLACE, RENAME_EXCHANGE, 0};
        const auto flag = flags[what - 2];
        if (name == other) continue;  // the kernel handles this case
        CHECK(error_of(fs.names().rename(kRootNode, name, kRootNode, other, flag)) ==
              model.rename(name, other, flag));
      }
      std::vector<std::string> wanted;
      for (const auto& [key, file] : model.names()) wanted.push_back(key);
      REQUIRE(mount.names() == wanted);
      for (const auto& [key, file] : model.names()) {
        REQUIRE(content_of(mount, key) ==
                test::noise(std::size_t{100} + static_cast<std::size_t>(file), 1));
      }
    }
  }
}

}  // namespace
}  // namespace framefs::fs::filesystem_names_test

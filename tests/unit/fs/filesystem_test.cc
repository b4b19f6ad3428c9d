#include "fs/tree/filesystem.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/test_mount.h"

namespace framefs::fs::filesystem_test {
namespace {

namespace stdfs = std::filesystem;

TEST_CASE("filesystem: files are looked up by their shown names", "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2frame", test::small_frame(2500));
  mount.write("text", "hello");
  stdfs::create_directory(mount.path("sub"));
  mount.write("sub/y.b2", test::small_frame(700));

  const auto frame = mount.lookup("x");
  CHECK(frame.stat.st_size == 2500);
  CHECK(frame.stat.st_ino == mount.stat("x.b2frame").st_ino);
  CHECK(frame.stat.st_blocks == mount.stat("x.b2frame").st_blocks);
  CHECK(frame.stat.st_mtime == mount.stat("x.b2frame").st_mtime);
  CHECK(frame.stat.st_blksize == 4096);  // 1000, the chunk size, is too small for tools
  const auto text = mount.lookup("text");
  CHECK(text.stat.st_size == 5);
  const auto sub = mount.lookup("sub");
  CHECK(S_ISDIR(sub.stat.st_mode));
  CHECK(mount.lookup("y", sub.id).stat.st_size == 700);
  CHECK(mount.read_all("x") == test::noise(2500, 1));

  const auto full = mount.lookup("x.b2frame");
  CHECK(full.id != frame.id);
  CHECK(full.stat.st_ino == frame.stat.st_ino);
  CHECK_FALSE(full.is_listed);
  CHECK(frame.is_listed);
  CHECK(mount.lookup_error("x.b2") == ENOENT);
  CHECK(mount.lookup_error("absent") == ENOENT);
  CHECK(mount.lookup_error("x", text.id) == ENOTDIR);
  CHECK(mount.lookup_error("x", 12345) == ESTALE);
  CHECK(mount.lookup_error(std::string(300, 'n')) == ENAMETOOLONG);
}

TEST_CASE("filesystem: the block size shown is the chunk's within reason",
          "[fs][filesystem][unit]") {
  Mount mount;
  const auto frame_of = [](std::uint32_t chunksize) {
    test::FrameSpec spec;
    spec.chunksize = chunksize;
    spec.chunks = {test::index_only_chunk(test::SpecialKind::zero, chunksize)};
    return test::build_frame(spec).bytes;
  };
  mount.write("middle.b2", frame_of(65536));
  mount.write("large.b2", frame_of(1u << 30));
  CHECK(mount.lookup("middle").stat.st_blksize == 65536);
  CHECK(mount.lookup("large").stat.st_blksize == 1 << 20);
  CHECK(mount.lookup("large").stat.st_size == 1 << 30);
}

TEST_CASE("filesystem: nodes are known until they are forgotten", "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(100));
  const auto id = mount.lookup("x").id;
  CHECK(mount.lookup("x").id == id);
  REQUIRE(mount.fs().tree().stat_node(id));
  CHECK(mount.fs().tree().stat_node(id)->st_size == 100);
  mount.fs().tree().forget(id, 1);
  CHECK(mount.fs().tree().stat_node(id));
  mount.fs().tree().forget(id, 1);
  const auto gone = mount.fs().tree().stat_node(id);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().sys == ESTALE);
  CHECK(mount.fs().contents().open(id, O_RDONLY).error().sys == ESTALE);
  CHECK(mount.fs().tree().stat_node(kRootNode));
}

TEST_CASE("filesystem: a file that is open can be forgotten and is read on",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(100));
  const auto id = mount.lookup("x").id;
  const auto opened = mount.open(id);
  mount.fs().tree().forget(id, 1);
  const auto bytes = mount.read(*opened.file, 0, 100);
  REQUIRE(bytes);
  CHECK(*bytes == test::noise(100, 1));
  mount.fs().contents().close(*opened.file);
}

TEST_CASE("filesystem: hard links share a node where they are shown alike",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("one.b2", test::small_frame(100));
  for (const auto* const name : {"other.b2", "raw"}) {
    stdfs::create_hard_link(mount.path("one.b2"), mount.path(name));
  }
  const auto one = mount.lookup("one");
  const auto other = mount.lookup("other");
  const auto raw = mount.lookup("raw");
  CHECK(one.id == other.id);
  CHECK(one.stat.st_nlink == 3);
  CHECK(raw.id != one.id);
  CHECK(raw.stat.st_size == mount.stat("raw").st_size);
  // One of two names is removed.  The node lives on under the other name, once a lookup has seen
  // it.
  stdfs::remove(mount.path("other.b2"));
  CHECK(mount.fs().tree().stat_node(one.id).error().sys == ESTALE);
  CHECK(mount.lookup("one").id == one.id);
  CHECK(mount.fs().tree().stat_node(one.id));
}

// Oracle: the bytes that were written to each frame.
TEST_CASE("filesystem: a frame that another replaced shows the new bytes",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(1500, 1));
  CHECK(mount.read_all("x") == test::noise(1500, 1));
  const auto old = mount.lookup("x");
  const auto before = mount.open(old.id);
  mount.write("new", test::small_frame(2500, 2));
  stdfs::rename(mount.path("new"), mount.path("x.b2"));

  // The old file is found by its open handle.  After ESTALE, the kernel looks the name up again.
  CHECK(mount.fs().tree().stat_node(old.id)->st_nlink == 0);
  CHECK(mount.fs().contents().open(old.id, O_RDONLY).error().sys == ESTALE);
  const auto now = mount.lookup("x");
  CHECK(now.id != old.id);
  CHECK(now.stat.st_size == 2500);
  CHECK(mount.read_all("x") == test::noise(2500, 2));
  // A descriptor of the old file still reads its content.
  const auto bytes = mount.read(*before.file, 0, 10000);
  REQUIRE(bytes);
  CHECK(*bytes == test::noise(1500, 1));
  CHECK(mount.fs().tree().stat_file(*before.file)->st_size == 1500);
  mount.fs().contents().close(*before.file);
}

TEST_CASE("filesystem: a frame changed in place shows its new bytes and size, open or not",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(1500, 1));
  const auto id = mount.lookup("x").id;
  const auto opened = mount.open(id);
  REQUIRE(mount.read(*opened.file, 0, 10000));
  for (const std::size_t size : {2500U, 2500U, 800U}) {
    const auto seed = static_cast<std::uint32_t>(size) + 5;
    mount.write("x.b2", test::small_frame(size, seed));
    CHECK(mount.fs().tree().stat_node(id)->st_size == static_cast<off_t>(size));
    CHECK(mount.fs().tree().stat_file(*opened.file)->st_size == static_cast<off_t>(size));
    const auto bytes = mount.read(*opened.file, 0, 10000);
    REQUIRE(bytes);
    CHECK(*bytes == test::noise(size, seed));
    CHECK(mount.lookup("x").id == id);
    CHECK(mount.read_all("x") == test::noise(size, seed));
  }
  mount.write("x.b2", "no frame any more");
  CHECK_FALSE(mount.read(*opened.file, 0, 10000));
  CHECK(mount.lookup_error("x") == ENOENT);
  CHECK(mount.lookup("x.b2").id != id);
  mount.fs().contents().close(*opened.file);
}

// The truth table of OpenFile::keep_pages, for frames and plain files.  The kernel's pages are
// valid only if the file was opened before in exactly this state.
TEST_CASE("filesystem: the kernel keeps its pages while the file is in the state they are of",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("frame.b2", test::small_frame(100));
  mount.write("text", "hello");
  for (const auto& [source, shown] : {std::pair{"frame.b2", "frame"}, std::pair{"text", "text"}}) {
    CAPTURE(source);
    const auto id = mount.lookup(shown).id;
    const auto keeps = [&] {
      const auto opened = mount.open(id);
      mount.fs().contents().close(*opened.file);
      return opened.keep_pages;
    };
    CHECK_FALSE(keeps());  // first open
    CHECK(keeps());
    CHECK(keeps());
    mount.touch(source);
    CHECK_FALSE(keeps());
    CHECK(keeps());
    const auto first = mount.open(id);  // stays open during the next opens
    CHECK(first.keep_pages);
    mount.touch(source);
    CHECK_FALSE(keeps());
    CHECK(keeps());
    mount.fs().contents().close(*first.file);
    mount.fs().tree().forget(id, 1);
    const auto anew = mount.open(mount.lookup(shown).id);
    CHECK_FALSE(anew.keep_pages);  // the kernel had dropped the node
    mount.fs().contents().close(*anew.file);
  }
}

TEST_CASE("filesystem: an open that the kernel answers reads from its pages makes no view",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(100, 1));
  const auto id = mount.lookup("x").id;
  const auto node = mount.fs().tree().find(id);
  REQUIRE(node);
  const auto makes_view = [&] {
    const auto opened = mount.open(id);
    const bool has_view = (*node)->state.with([](const Node::State& state) {
      return state.content.view_of(state.content.id()) != nullptr;
    });
    CHECK(mount.read(*opened.file, 0, 100).has_value());
    mount.fs().contents().close(*opened.file);
    return has_view;
  };
  CHECK(makes_view());
  CHECK_FALSE(makes_view());
  CHECK_FALSE(makes_view());
  mount.touch("x.b2");
  CHECK(makes_view());
  CHECK_FALSE(makes_view());
}

TEST_CASE("filesystem: frames that cannot be read are opened past the kernel's pages",
          "[fs][filesystem][corrupt]") {
  Mount mount;
  mount.write("good.b2", test::small_frame(100));
  mount.write("damaged.b2", test::damaged_frame());
  test::BuiltSparseFrame sparse = test::small_sparse_frame(100);
  sparse.index_file.pop_back();
  mount.write("sparse.b2", sparse);
  mount.write("text", "hello");
  auto cut = test::small_frame(100);
  cut.pop_back();
  mount.write("cut.b2", cut);
  for (const auto& [name, bypasses] : std::map<std::string, bool>{
           {"good", false}, {"text", false}, {"damaged", true}, {"sparse", true}, {"cut", true}}) {
    CAPTURE(name);
    const auto opened = mount.open(mount.lookup(name).id);
    CHECK(opened.bypass_pages == bypasses);
    if (name != "text") CHECK(mount.read(*opened.file, 0, 10).has_value() == !bypasses);
    mount.fs().contents().close(*opened.file);
  }
  CHECK(mount.lookup("damaged").stat.st_size == 0);
  CHECK(mount.lookup("cut").stat.st_size == 100);  // the size in the header
  CHECK(mount.lines().size() == 3);
  CHECK(std::ranges::any_of(mount.lines(), [&](const std::string& line) {
    return line.starts_with("error: " + mount.path("cut.b2").string() + ": truncated: frame_len");
  }));
}

// Oracle: the descriptors of the process.  A view is closed with its last handle.
TEST_CASE("filesystem: closing gives back the descriptors", "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(100));
  const auto id = mount.lookup("x").id;
  const auto count = [] {
    return std::distance(stdfs::directory_iterator("/proc/self/fd"), stdfs::directory_iterator());
  };
  const auto before = count();
  {
    const auto one = mount.open(id);
    const auto two = mount.open(id);
    REQUIRE(mount.read(*one.file, 0, 10));
    REQUIRE(mount.read(*two.file, 0, 10));
    CHECK(count() > before);
    mount.fs().contents().close(*one.file);
    CHECK(mount.read(*two.file, 0, 10));
    mount.fs().contents().close(*two.file);
  }
  CHECK(count() == before);
}

TEST_CASE("filesystem: access is granted as the source grants it", "[fs][filesystem][unit]") {
  for (const bool read_only : {false, true}) {
    MountOptions options;
    options.read_only = read_only;
    Mount mount(options);
    mount.write("x.b2", test::small_frame(100));
    const auto id = mount.lookup("x").id;
    CHECK(mount.fs().tree().check_access(id, F_OK));
    CHECK(mount.fs().tree().check_access(id, R_OK));
    CHECK(mount.fs().tree().check_access(kRootNode, R_OK | X_OK));
    // A file without an x bit cannot be executed, not even by root.
    const auto execute = mount.fs().tree().check_access(id, X_OK);
    REQUIRE_FALSE(execute);
    CHECK(execute.error().sys == EACCES);
    for (const int mask : {W_OK, R_OK | W_OK}) {
      const auto write = mount.fs().tree().check_access(id, mask);
      CHECK(write.has_value() == !read_only);
      if (!write) CHECK(write.error().sys == EROFS);
    }
    stdfs::remove(mount.path("x.b2"));
    CHECK(mount.fs().tree().check_access(id, R_OK).error().sys == ESTALE);
  }
}

TEST_CASE("filesystem: links are shown and lead where they say", "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(100));
  const std::string far(4000, 'f');
  stdfs::create_symlink("x.b2", mount.path("link.b2"));
  stdfs::create_symlink(far, mount.path("far"));
  const auto link = mount.lookup("link.b2");
  CHECK(S_ISLNK(link.stat.st_mode));
  CHECK(mount.fs().tree().read_link(link.id) == "x.b2");
  CHECK(mount.fs().tree().read_link(mount.lookup("far").id) == far);
  CHECK_FALSE(mount.fs().tree().read_link(mount.lookup("x").id));
  const auto opened = mount.fs().contents().open(link.id, O_RDONLY);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().sys == ELOOP);
}

TEST_CASE("filesystem: statfs is that of the source", "[fs][filesystem][unit]") {
  Mount mount;
  const auto st = mount.fs().tree().stat_filesystem();
  REQUIRE(st);
  struct statvfs expected{};
  REQUIRE(::statvfs(mount.path("").c_str(), &expected) == 0);
  CHECK(st->f_blocks == expected.f_blocks);
  CHECK(st->f_bsize == expected.f_bsize);
  CHECK(st->f_namemax == expected.f_namemax);
}

TEST_CASE("filesystem: a directory's entries can be looked up without their names",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(100));
  mount.write("text", "hello");
  stdfs::create_directory(mount.path("sub"));
  const auto directory = mount.fs().tree().open_directory(kRootNode);
  REQUIRE(directory);
  const auto entries = mount.fs().tree().list(**directory);
  REQUIRE(entries);
  CHECK(entries->size() == 3);
  for (const auto& entry : *entries) {
    CAPTURE(entry.shown.name);
    const auto listed = mount.fs().tree().lookup(**directory, entry);
    REQUIRE(listed);
    const auto by_name = mount.lookup(entry.shown.name);
    CHECK(listed->id == by_name.id);
    CHECK(listed->stat.st_size == by_name.stat.st_size);
    CHECK(listed->stat.st_ino == by_name.stat.st_ino);
    CHECK(mount.fs().tree().shown_inode(**directory, entry) == by_name.stat.st_ino);
    mount.fs().tree().forget(listed->id, 1);
    CHECK(mount.fs().tree().stat_node(listed->id));  // the lookup by name still counts
    mount.fs().tree().forget(listed->id, 1);
    CHECK_FALSE(mount.fs().tree().stat_node(listed->id));
  }
  stdfs::remove(mount.path("text"));
  for (const auto& entry : *entries) {
    if (entry.shown.name == "text")
      CHECK(mount.fs().tree().lookup(**directory, entry).error().sys == ENOENT);
  }
  const auto text = mount.lookup("x").id;
  CHECK(mount.fs().tree().open_directory(text).error().sys == ENOTDIR);
}

TEST_CASE("filesystem: a moved file is found where it was seen last", "[fs][filesystem][unit]") {
  Mount mount;
  stdfs::create_directory(mount.path("one"));
  mount.write("one/x.b2", test::small_frame(100));
  const auto one = mount.lookup("one");
  const auto file = mount.lookup("x", one.id);
  stdfs::rename(mount.path("one"), mount.path("two"));
  CHECK(mount.fs().tree().stat_node(file.id).error().sys == ESTALE);
  CHECK(mount.lookup("two").id == one.id);
  REQUIRE(mount.fs().tree().stat_node(file.id));
  CHECK(mount.lookup("x", one.id).id == file.id);
}

TEST_CASE("filesystem: a change of attributes reaches an open file that was moved, and no other",
          "[fs][filesystem][unit]") {
  Mount mount;
  for (const std::string name : {"plain", "frame.b2"}) {
    CAPTURE(name);
    mount.write(name, test::small_frame(100));
    const auto opened = mount.open(mount.lookup(stdfs::path(name).stem()).id);
    const auto set_mode = [&](mode_t mode) {
      AttributeChange change;
      change.mode = mode;
      return mount.fs().attributes().set(opened.file->node->id, change, nullptr);
    };
    stdfs::rename(mount.path(name), mount.path("moved"));
    mount.write(name, test::small_frame(100, 1));
    const auto mode_of_other = mount.stat(name).st_mode;
    REQUIRE(set_mode(0604));
    CHECK((mount.stat("moved").st_mode & 07777) == 0604);
    stdfs::rename(mount.path(name), mount.path("moved"));
    CHECK(set_mode(0640).error().sys == ESTALE);
    CHECK(mount.stat("moved").st_mode == mode_of_other);
    mount.fs().contents().close(*opened.file);
  }
}

// Oracle: each read returns exactly one of the written states.
TEST_CASE("filesystem: readers see whole states of a frame that is replaced under them",
          "[fs][filesystem][race]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(3000, 0));
  std::vector<test::Bytes> frames;
  std::vector<test::Bytes> states;
  for (std::uint32_t i = 0; i < 30; ++i) {
    frames.push_back(test::small_frame(3000, i));
    states.push_back(test::noise(3000, i));
  }
  static_cast<void>(mount.fs());
  std::atomic<bool> done{false};
  std::vector<int> wrong(5);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    if (thread == 0) {
      for (std::size_t i = 1; i < frames.size(); ++i) {
        mount.write("next", frames[i]);
        stdfs::rename(mount.path("next"), mount.path("x.b2"));
      }
      done = true;
      return;
    }
    do {
      const auto entry = mount.fs().tree().lookup(kRootNode, "x");
      if (!entry) {
        ++wrong[thread];
        continue;
      }
      // The frame may be replaced between lookup and open.  The kernel would then repeat the
      // lookup.
      auto opened = mount.fs().contents().open(entry->id, O_RDONLY);
      if (opened) {
        const auto bytes = mount.read(*opened->file, 0, 10000);
        if (!bytes || std::ranges::find(states, *bytes) == states.end()) ++wrong[thread];
        mount.fs().contents().close(*opened->file);
      } else if (opened.error().sys != ESTALE) {
        ++wrong[thread];
      }
      mount.fs().tree().forget(entry->id, 1);
    } while (!done);
  });
  CHECK(wrong == std::vector<int>(5));
  CHECK(mount.read_all("x") == states.back());
}

}  // namespace
}  // namespace framefs::fs::filesystem_test

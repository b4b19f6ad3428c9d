#include "fs/tree/mount_root.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"

namespace framefs::fs::mount_root_test {
namespace {

namespace stdfs = std::filesystem;

// One SOURCE of every kind, each named after its kind.
struct Sources {
  Sources() {
    temp.write("frame.b2frame", test::small_frame(100));
    temp.write("frame", test::small_frame(100));
    temp.write("damaged.b2", test::damaged_frame());
    temp.write("array.b2nd", test::small_array(10));
    temp.write("array", test::small_array(10));
    temp.write("array.b2frame", test::small_array(10));
    temp.write("opaque.b2nd", test::small_opaque_array(10));
    test::write_sparse_frame(temp.path() / "sparse.b2frame", test::small_sparse_frame(100));
    test::write_sparse_frame(temp.path() / "sparse", test::small_sparse_frame(100));
    test::write_sparse_frame(temp.path() / "sparse.b2nd",
                             test::build_sparse_frame(test::small_array_frame(10)));
    temp.write("index.b2frame", test::sparse_index(100));
    temp.write("text", "no frame");
    temp.write("text.b2frame", "no frame");
    temp.write("empty.b2", "");
    temp.write("empty.b2nd", "");
    stdfs::create_directory(temp.path() / "folder");
    stdfs::create_directory(temp.path() / "folder.b2frame");
    stdfs::create_symlink("frame.b2frame", temp.path() / "link");
    stdfs::create_symlink("folder", temp.path() / "link.b2frame");
    stdfs::create_symlink("sparse", temp.path() / "sparse-link");
    stdfs::create_symlink("nowhere", temp.path() / "dangling");
    REQUIRE(::mkfifo((temp.path() / "fifo.b2").c_str(), 0600) == 0);
  }
  [[nodiscard]] MountOptions options(const std::string& name, bool onto_file) const {
    MountOptions options;
    options.source = temp.path() / name;
    options.onto_file = onto_file;
    return options;
  }
  test::TempDirectory temp;
};

constexpr int kNotThisWay = 0;

// The expected result for a SOURCE mounted on a directory, and on a file.
struct Row {
  const char* name;
  ShownAs on_directory;
  ShownAs on_file;
  int directory_error = kNotThisWay;  // instead of `on_directory`
  int file_error = kNotThisWay;
};

void check(const Result<MountRoot>& root, ShownAs shown_as, int error) {
  if (error != kNotThisWay) {
    REQUIRE_FALSE(root);
    CHECK(root.error().kind == Errc::system);
    CHECK(root.error().sys == error);
    return;
  }
  REQUIRE(root);
  CHECK(root->shown_as == shown_as);
}

TEST_CASE("mount_root: every SOURCE goes onto every MOUNTPOINT, or is refused",
          "[fs][mount_root][unit]") {
  const Sources sources;
  constexpr ShownAs kNone = ShownAs::itself;
  for (const auto& row : {Row{"frame.b2frame", ShownAs::single_entry, ShownAs::frame},
                          Row{"frame", ShownAs::single_entry, ShownAs::frame},
                          Row{"damaged.b2", ShownAs::single_entry, ShownAs::frame},
                          Row{"array.b2nd", ShownAs::single_entry, ShownAs::npy},
                          Row{"array", ShownAs::single_entry, ShownAs::npy},
                          Row{"array.b2frame", ShownAs::single_entry, ShownAs::frame},
                          Row{"opaque.b2nd", ShownAs::single_entry, ShownAs::array},
                          Row{"sparse.b2frame", ShownAs::single_entry, ShownAs::frame},
                          Row{"sparse", ShownAs::single_entry, ShownAs::frame},
                          Row{"sparse/", ShownAs::single_entry, ShownAs::frame},
                          Row{"sparse.b2nd", ShownAs::single_entry, ShownAs::npy},
                          Row{"link", ShownAs::single_entry, ShownAs::frame},
                          Row{"sparse-link", ShownAs::single_entry, ShownAs::frame},
                          Row{"folder", ShownAs::itself, kNone, kNotThisWay, ENOTDIR},
                          Row{"folder.b2frame", ShownAs::itself, kNone, kNotThisWay, ENOTDIR},
                          Row{"link.b2frame", ShownAs::itself, kNone, kNotThisWay, ENOTDIR},
                          Row{"index.b2frame", kNone, kNone, ENOTDIR, ENOTDIR},
                          Row{"text", kNone, kNone, ENOTDIR, ENOTDIR},
                          Row{"text.b2frame", kNone, kNone, ENOTDIR, ENOTDIR},
                          Row{"empty.b2", ShownAs::single_entry, ShownAs::frame},
                          Row{"empty.b2nd", kNone, kNone, ENOTDIR, ENOTDIR},
                          Row{"fifo.b2", kNone, kNone, ENOTDIR, ENOTDIR},
                          Row{"dangling", kNone, kNone, ENOENT, ENOENT},
                          Row{"absent", kNone, kNone, ENOENT, ENOENT},
                          Row{"text/below", kNone, kNone, ENOTDIR, ENOTDIR}}) {
    CAPTURE(row.name);
    check(find_mount_root(sources.options(row.name, false)), row.on_directory, row.directory_error);
    check(find_mount_root(sources.options(row.name, true)), row.on_file, row.file_error);
  }
}

TEST_CASE("mount_root: an array on a file is shown as the option for arrays says",
          "[fs][mount_root][unit]") {
  const Sources sources;
  auto options = sources.options("array.b2nd", true);
  options.arrays = ArrayViews::raw;
  check(find_mount_root(options), ShownAs::array, kNotThisWay);
  options.arrays = ArrayViews::both;
  check(find_mount_root(options), ShownAs::array, kNotThisWay);
}

TEST_CASE("mount_root: a refusal says why", "[fs][mount_root][unit]") {
  const Sources sources;
  const auto reason = [&](const std::string& name, bool onto_file, std::uint64_t offset) {
    auto options = sources.options(name, onto_file);
    options.source_offset = offset;
    const auto root = find_mount_root(options);
    REQUIRE_FALSE(root);
    return std::string(root.error().field);
  };
  CHECK(reason("folder", true, 0) == "MOUNTPOINT must be a directory, as SOURCE is one");
  CHECK(reason("folder", false, 1) == "an offset needs a SOURCE that is one file");
  CHECK(reason("text", false, 0) == "SOURCE is neither a directory nor a frame");
  CHECK(reason("frame.b2frame", false, 1) == "SOURCE has no frame at --offset");
}

TEST_CASE("mount_root: the root is the entry that SOURCE names", "[fs][mount_root][unit]") {
  const Sources sources;
  const auto inode_of = [&](const char* name) {
    struct stat st{};
    REQUIRE(::stat((sources.temp.path() / name).c_str(), &st) == 0);
    return st.st_ino;
  };
  for (const auto* const name : {"frame", "sparse", "folder", "array.b2nd"}) {
    CAPTURE(name);
    const auto root = find_mount_root(sources.options(name, false));
    REQUIRE(root);
    CHECK(root->entry.stat.st_ino == inode_of(name));
    const bool is_lone = root->shown_as == ShownAs::single_entry;
    CHECK(root->root.path() == (is_lone ? name : "."));
    CHECK(root->expected == (is_lone ? Expected::array : Expected::nothing));
  }
  MountOptions everything;
  everything.source = "/";
  const auto all = find_mount_root(everything);
  REQUIRE(all);
  CHECK(all->shown_as == ShownAs::itself);
  CHECK(S_ISDIR(all->entry.stat.st_mode));
}

TEST_CASE("mount_root: a frame is looked for where the offset says", "[fs][mount_root][unit]") {
  const Sources sources;
  auto file = test::noise(77, 1);
  test::append(file, test::small_frame(100));
  sources.temp.write("file", file);
  auto options = sources.options("file", false);
  check(find_mount_root(options), ShownAs::itself, ENOTDIR);
  options.source_offset = 77;
  const auto root = find_mount_root(options);
  REQUIRE(root);
  CHECK(root->shown_as == ShownAs::single_entry);
  CHECK(root->entry.summary.nbytes == 100);
  options.source_offset = 10'000;
  check(find_mount_root(options), ShownAs::itself, ENOTDIR);
  // The directory of a sparse frame is not a file.
  options = sources.options("sparse", false);
  options.source_offset = 77;
  CHECK_FALSE(find_mount_root(options));
}

}  // namespace
}  // namespace framefs::fs::mount_root_test

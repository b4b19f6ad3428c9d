// How a filesystem shows frames that are not simply one file in a folder: sparse frames, arrays,
// and a SOURCE that is a single frame.  See filesystem_test.cc for names, nodes and states.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "fs/tree/filesystem.h"
#include "tests/support/catch.h"
#include "tests/unit/fs/test_mount.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::fs::filesystem_frames_test {
namespace {

namespace stdfs = std::filesystem;

using Names = std::vector<std::string>;

MountOptions with(ArrayViews arrays) {
  MountOptions options;
  options.arrays = arrays;
  return options;
}

// The size of the header of a .npy file.  Source: NumPy Enhancement Proposal 1.
std::size_t npy_header_bytes(const test::Bytes& npy) {
  REQUIRE(npy.size() >= 10);
  return 10 + std::to_integer<std::size_t>(npy[8]) + 256 * std::to_integer<std::size_t>(npy[9]);
}

test::Bytes after_header(const test::Bytes& npy) {
  return {npy.begin() + static_cast<std::ptrdiff_t>(npy_header_bytes(npy)), npy.end()};
}

TEST_CASE("filesystem: a sparse frame is a file with the directory's owner and the index's times",
          "[fs][filesystem][unit]") {
  Mount mount;
  const auto frame = test::small_sparse_frame(2500);
  mount.write("x.b2frame", frame);
  std::uint64_t stored = frame.index_file.size();
  for (const auto& [id, chunk] : frame.chunks) stored += chunk.size();

  CHECK(mount.names() == Names{"x"});
  const auto entry = mount.lookup("x");
  const auto index = mount.stat("x.b2frame/chunks.b2frame");
  CHECK(S_ISREG(entry.stat.st_mode));
  CHECK(entry.stat.st_size == 2500);
  CHECK(entry.stat.st_blocks == static_cast<blkcnt_t>((stored + 511) / 512));
  CHECK(entry.stat.st_mtime == index.st_mtime);
  CHECK(entry.stat.st_mode == index.st_mode);
  CHECK(entry.stat.st_ino == mount.stat("x.b2frame").st_ino);
  CHECK(mount.read_all("x") == test::noise(2500, 1));
  CHECK(mount.fs().tree().stat_node(entry.id)->st_size == 2500);
  CHECK(mount.fs().tree().check_access(entry.id, R_OK));
  // A sparse frame is shown as a file, so lookups in it fail.
  CHECK(mount.lookup_error("chunks.b2frame", entry.id) == ENOTDIR);
  CHECK(mount.fs().tree().open_directory(entry.id).error().sys == ENOTDIR);
}

TEST_CASE("filesystem: attributes of a sparse frame that change during a commit stay",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2frame", test::small_sparse_frame(2500));
  const auto id = mount.lookup("x").id;
  const auto opened = mount.fs().contents().open(id, O_RDWR);
  REQUIRE(opened);
  auto& file = *opened->file;
  REQUIRE(mount.fs().changes().write(file, 0, test::noise(2000, 2)));
  const auto session = file.session.get();
  const auto begun = session->begin_commit();
  REQUIRE(begun);
  REQUIRE(*begun);
  constexpr mode_t kMode = 0604;
  constexpr time_t kTime = 5;
  AttributeChange change;
  change.mode = kMode;
  change.accessed = timespec{.tv_sec = kTime, .tv_nsec = 0};
  REQUIRE(mount.fs().attributes().set(id, change, nullptr));
  REQUIRE(session->finish_commit(**begun));
  CHECK(mount.stat("x.b2frame/chunks.b2frame").st_atim.tv_sec == kTime);
  for (const auto& part : std::filesystem::directory_iterator(mount.path("x.b2frame"))) {
    CAPTURE(part.path());
    struct stat st{};
    REQUIRE(::lstat(part.path().c_str(), &st) == 0);
    CHECK((st.st_mode & 07777) == kMode);
  }
  REQUIRE_FALSE(session->is_changed());
  mount.fs().contents().close(file);
}

TEST_CASE("filesystem: a sparse frame that changed shows its new bytes and size",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_sparse_frame(1500, 1));
  const auto id = mount.lookup("x").id;
  const auto opened = mount.open(id);
  CHECK(mount.read(*opened.file, 0, 10000).value() == test::noise(1500, 1));
  // Writers change the index in place or replace it by a new file.
  for (const std::uint32_t seed : {2U, 3U}) {
    const std::size_t size = 1000 + 500 * seed;
    if (seed == 3) REQUIRE(stdfs::remove(mount.path("x.b2/chunks.b2frame")));
    mount.write("x.b2", test::small_sparse_frame(size, seed));
    CHECK(mount.fs().tree().stat_node(id)->st_size == static_cast<off_t>(size));
    CHECK(mount.fs().tree().stat_file(*opened.file)->st_size == static_cast<off_t>(size));
    CHECK(mount.read(*opened.file, 0, 10000).value() == test::noise(size, seed));
    CHECK(mount.lookup("x").id == id);
  }
  // The directory is no longer a frame.
  REQUIRE(stdfs::remove(mount.path("x.b2/chunks.b2frame")));
  CHECK_FALSE(mount.read(*opened.file, 0, 10000));
  CHECK(mount.lookup_error("x") == ENOENT);
  CHECK(S_ISDIR(mount.lookup("x.b2").stat.st_mode));
  mount.fs().contents().close(*opened.file);
}

TEST_CASE("filesystem: the kernel keeps the pages of a sparse frame whose index is the same",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_sparse_frame(1500));
  const auto id = mount.lookup("x").id;
  const auto keeps = [&] {
    const auto opened = mount.open(id);
    mount.fs().contents().close(*opened.file);
    return opened.keep_pages;
  };
  CHECK_FALSE(keeps());
  CHECK(keeps());
  mount.touch("x.b2/chunks.b2frame");
  CHECK_FALSE(keeps());
  CHECK(keeps());
}

TEST_CASE("filesystem: a missing chunk file spoils its own range", "[fs][filesystem][corrupt]") {
  Mount mount;
  mount.write("x.b2", test::small_sparse_frame(2500));
  REQUIRE(stdfs::remove(mount.path("x.b2/00000001.chunk")));
  const auto opened = mount.open(mount.lookup("x").id);
  CHECK_FALSE(opened.bypass_pages);
  CHECK(mount.read(*opened.file, 0, 1000).has_value());
  CHECK(mount.read(*opened.file, 2000, 500).has_value());
  const auto lost = mount.read(*opened.file, 1000, 1);
  REQUIRE_FALSE(lost);
  CHECK(lost.error().kind == Errc::bad_field);
  mount.fs().contents().close(*opened.file);
  CHECK(mount.lines() == Names{"error: " + mount.path("x.b2").string() +
                               ": chunk 1: bad field: chunk file (1) at byte 0"});
}

TEST_CASE("filesystem: descriptors of a sparse frame are given back", "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_sparse_frame(40000));
  const auto id = mount.lookup("x").id;
  const auto count = [] {
    return std::distance(stdfs::directory_iterator("/proc/self/fd"), stdfs::directory_iterator());
  };
  const auto before = count();
  {
    const auto opened = mount.open(id);
    REQUIRE(mount.read(*opened.file, 0, 40000));
    CHECK(count() > before);
    CHECK(count() < before + 20);  // not one for each chunk
    mount.fs().contents().close(*opened.file);
  }
  CHECK(count() == before);
}

TEST_CASE("filesystem: an array is shown as a NumPy file", "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("x.b2nd", test::small_array(700, 3));
  mount.write("s.b2nd", test::build_sparse_frame(test::small_array_frame(300, 4)));
  mount.write("opaque.b2nd", test::small_opaque_array(10));
  CHECK(mount.names() == Names{"opaque", "s.npy", "x.npy"});
  for (const auto& [name, items, seed] :
       {std::tuple{"x.npy", 700U, 3U}, std::tuple{"s.npy", 300U, 4U}}) {
    CAPTURE(name);
    const auto npy = mount.read_all(name);
    CHECK(after_header(npy) == test::noise(4 * items, seed));
    CHECK(npy_header_bytes(npy) % 64 == 0);
    const std::string text(test::as_chars(npy.data()), npy_header_bytes(npy));
    CHECK(text.find("'descr': '<i4'") != std::string::npos);
    CHECK(text.find("(" + std::to_string(items) + ",)") != std::string::npos);
    CHECK(mount.lookup(name).stat.st_size == static_cast<off_t>(npy.size()));
  }
  CHECK(mount.read_all("opaque") == test::noise(40, 1));
  CHECK(mount.lookup("opaque").stat.st_size == 40);
  CHECK(mount.lookup("x.npy").stat.st_ino == mount.stat("x.b2nd").st_ino);
  CHECK(mount.lookup("x.npy").stat.st_blocks == mount.stat("x.b2nd").st_blocks);
  CHECK(mount.lookup_error("x") == ENOENT);
  CHECK(mount.lookup("x.b2nd").stat.st_ino == mount.lookup("x.npy").stat.st_ino);  // not listed
}

TEST_CASE("filesystem: an array may be shown as its bytes", "[fs][filesystem][unit]") {
  Mount mount(with(ArrayViews::raw));
  mount.write("x.b2nd", test::small_array(700, 3));
  CHECK(mount.names() == Names{"x"});
  CHECK(mount.read_all("x") == test::noise(2800, 3));
  CHECK(mount.lookup("x").stat.st_size == 2800);
  CHECK(mount.lookup("x").stat.st_ino == mount.stat("x.b2nd").st_ino);
}

TEST_CASE("filesystem: an array may be shown twice, as two files", "[fs][filesystem][unit]") {
  Mount mount(with(ArrayViews::both));
  mount.write("x.b2nd", test::small_array(700, 3));
  CHECK(mount.names() == Names{"x", "x.npy"});
  const auto raw = mount.lookup("x");
  const auto npy = mount.lookup("x.npy");
  CHECK(raw.id != npy.id);
  CHECK(raw.stat.st_ino != npy.stat.st_ino);
  CHECK(mount.read_all("x") == test::noise(2800, 3));
  CHECK(after_header(mount.read_all("x.npy")) == test::noise(2800, 3));
  const auto directory = mount.fs().tree().open_directory(kRootNode);
  REQUIRE(directory);
  const auto entries = mount.fs().tree().list(**directory);
  REQUIRE(entries);
  for (const auto& entry : *entries) {
    const auto expected = entry.shown.name == "x" ? raw : npy;
    CHECK(mount.fs().tree().shown_inode(**directory, entry) == expected.stat.st_ino);
    const auto listed = mount.fs().tree().lookup(**directory, entry);
    REQUIRE(listed);
    CHECK(listed->id == expected.id);
  }
}

// Oracle: the frame's bytes, read under a name that does not show an array.
TEST_CASE("filesystem: an array that its metalayer describes wrongly cannot be read as one",
          "[fs][filesystem][corrupt]") {
  Mount mount;
  auto spec = test::small_array_frame(700);
  spec.metalayers[0].content[2] = std::byte{17};  // number of dimensions
  const auto bytes = test::build_frame(spec).bytes;
  mount.write("x.b2nd", bytes);
  mount.write("y.b2frame", bytes);
  CHECK(mount.names() == Names{"x", "y"});
  const auto opened = mount.open(mount.lookup("x").id);
  CHECK(opened.bypass_pages);
  const auto got = mount.read(*opened.file, 0, 10);
  REQUIRE_FALSE(got);
  CHECK(got.error().kind == Errc::bad_field);
  mount.fs().contents().close(*opened.file);
  CHECK(mount.read_all("y").size() == 3 * 1200);
  CHECK(mount.lines().size() == 1);
}

TEST_CASE("filesystem: holes are the zero chunks of frames and arrays", "[fs][filesystem][unit]") {
  Mount mount(with(ArrayViews::raw));
  test::FrameSpec spec = test::small_frame_spec(5000);
  spec.chunks[1] = test::index_only_chunk(test::SpecialKind::zero, 1000);
  spec.chunks[2] = spec.chunks[1];
  mount.write("frame.b2", test::build_frame(spec).bytes);
  mount.write("sparse.b2", test::build_sparse_frame(spec));
  test::FrameSpec array = test::small_array_frame(1000);
  array.chunks[1] = test::index_only_chunk(test::SpecialKind::zero, 1200);
  mount.write("array.b2nd", test::build_frame(array).bytes);
  struct Row {
    const char* name;
    std::uint64_t hole;
    std::uint64_t data;
    std::uint64_t end;
  };
  for (const auto& row : {Row{"frame", 1000, 3000, 5000}, Row{"sparse", 1000, 3000, 5000},
                          Row{"array", 1000, 2000, 4000}}) {
    CAPTURE(row.name);
    const auto opened = mount.open(mount.lookup(row.name).id);
    const auto seek = [&](Seek what, std::uint64_t offset) {
      return mount.fs().contents().seek(*opened.file, what, offset);
    };
    CHECK(seek(Seek::data, 0).value() == 0);
    CHECK(seek(Seek::hole, 0).value() == row.hole);
    CHECK(seek(Seek::data, row.hole).value() == row.data);
    CHECK(seek(Seek::hole, row.data).value() == row.end);
    CHECK(seek(Seek::hole, row.end).error().sys == ENXIO);
    CHECK(seek(Seek::data, row.end).error().sys == ENXIO);
    mount.fs().contents().close(*opened.file);
  }
}

// Oracle: lseek() on the source file.
TEST_CASE("filesystem: holes of files that are no frames are those of the source",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("plain", "");
  REQUIRE(::truncate(mount.path("plain").c_str(), 1 << 20) == 0);
  const UniqueFd fd(::open(mount.path("plain").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::pwrite(fd.get(), "data", 4, 512 << 10) == 4);
  const auto opened = mount.open(mount.lookup("plain").id);
  for (const off_t offset : {0, 1000, 512 << 10, (512 << 10) + 5000, (1 << 20) - 1, 1 << 20}) {
    for (const auto what : {Seek::data, Seek::hole}) {
      CAPTURE(offset);
      const auto got =
          mount.fs().contents().seek(*opened.file, what, static_cast<std::uint64_t>(offset));
      const auto expected = ::lseek(fd.get(), offset, what == Seek::data ? SEEK_DATA : SEEK_HOLE);
      CHECK(got.has_value() == (expected >= 0));
      if (got) CHECK(static_cast<off_t>(*got) == expected);
      if (!got) CHECK(got.error().sys == ENXIO);
    }
  }
  mount.fs().contents().close(*opened.file);
}

// The root of the mount is the frame itself.
TEST_CASE("filesystem: one frame may be shown on a file", "[fs][filesystem][unit]") {
  auto options = Mount::of("only.b2frame");
  options.onto_file = true;
  for (const bool sparse : {false, true}) {
    CAPTURE(sparse);
    Mount mount(options);
    if (sparse) mount.write("only.b2frame", test::small_sparse_frame(1500, 3));
    if (!sparse) mount.write("only.b2frame", test::small_frame(1500, 3));
    mount.write("beside", "hello");
    const auto st = mount.fs().tree().stat_node(kRootNode);
    REQUIRE(st);
    CHECK(S_ISREG(st->st_mode));
    CHECK(st->st_size == 1500);
    const auto opened = mount.open(kRootNode);
    CHECK(mount.read(*opened.file, 0, 10000).value() == test::noise(1500, 3));
    CHECK(mount.fs().tree().stat_file(*opened.file)->st_size == 1500);
    mount.fs().contents().close(*opened.file);
    CHECK(mount.fs().tree().check_access(kRootNode, R_OK));
    CHECK(mount.fs().tree().stat_filesystem());
    CHECK(mount.lookup_error("beside") == ENOTDIR);
    CHECK(mount.fs().tree().open_directory(kRootNode).error().sys == ENOTDIR);
  }
}

TEST_CASE("filesystem: one frame on a file that cannot be read fails its reads",
          "[fs][filesystem][corrupt]") {
  auto options = Mount::of("only.b2frame");
  options.onto_file = true;
  Mount mount(options);
  auto cut = test::small_frame(1500, 3);
  cut.pop_back();
  mount.write("only.b2frame", cut);
  const auto broken = mount.open(kRootNode);
  CHECK(broken.bypass_pages);
  mount.fs().contents().close(*broken.file);
  CHECK(mount.lines().back().starts_with("error: " + mount.path("only.b2frame").string() + ": "));
}

TEST_CASE("filesystem: one array may be shown on a file", "[fs][filesystem][unit]") {
  for (const auto arrays : {ArrayViews::npy, ArrayViews::raw, ArrayViews::both}) {
    auto options = Mount::of("only.b2nd");
    options.onto_file = true;
    options.arrays = arrays;
    Mount mount(options);
    mount.write("only.b2nd", test::small_array(300, 5));
    const auto bytes = mount.read_all(kRootNode);
    // The mount shows one file only; for `both` it shows the bytes.
    CHECK((arrays == ArrayViews::npy ? after_header(bytes) : bytes) == test::noise(1200, 5));
    CHECK(mount.fs().tree().stat_node(kRootNode)->st_size == static_cast<off_t>(bytes.size()));
  }
}

// The frame is the only entry of the mount and may have any name.
TEST_CASE("filesystem: one frame may be shown alone in a directory", "[fs][filesystem][unit]") {
  struct Row {
    const char* source;
    const char* shown;
    const char* kind;
  };
  for (const auto& row : {Row{"only.b2frame", "only", "frame"}, Row{"only.b2", "only", "sparse"},
                          Row{"noext", "noext", "frame"}, Row{"noext", "noext", "sparse"},
                          Row{"only.b2nd", "only.npy", "array"}, Row{"noext", "noext", "array"}}) {
    CAPTURE(row.source, row.kind);
    Mount mount(Mount::of(row.source));
    const std::string kind = row.kind;
    if (kind == "frame") mount.write(row.source, test::small_frame(1200, 5));
    if (kind == "sparse") mount.write(row.source, test::small_sparse_frame(1200, 5));
    if (kind == "array") mount.write(row.source, test::small_array(300, 5));
    mount.write("beside", "hello");
    const auto root = mount.fs().tree().stat_node(kRootNode);
    REQUIRE(root);
    CHECK(S_ISDIR(root->st_mode));
    CHECK((root->st_mode & S_IXUSR) != 0);
    CHECK(mount.names() == Names{row.shown});
    const auto entry = mount.lookup(row.shown);
    CHECK(S_ISREG(entry.stat.st_mode));
    CHECK(entry.stat.st_ino != root->st_ino);
    const auto bytes = mount.read_all(row.shown);
    CHECK((kind == "array" ? after_header(bytes) : bytes) == test::noise(1200, 5));
    CHECK(entry.stat.st_size == static_cast<off_t>(bytes.size()));
    CHECK(mount.fs().tree().stat_node(entry.id)->st_size == entry.stat.st_size);
    CHECK(mount.lookup_error("beside") == ENOENT);
    // A listing has the same entry.
    const auto directory = mount.fs().tree().open_directory(kRootNode);
    REQUIRE(directory);
    const auto entries = mount.fs().tree().list(**directory);
    REQUIRE(entries);
    const auto listed = mount.fs().tree().lookup(**directory, entries->front());
    REQUIRE(listed);
    CHECK(listed->id == entry.id);
    CHECK(listed->stat.st_size == entry.stat.st_size);
  }
}

TEST_CASE("filesystem: one frame may begin anywhere in its file", "[fs][filesystem][unit]") {
  test::Bytes file = test::noise(1001, 9);
  test::append(file, test::small_frame(1500, 3));
  test::append(file, test::small_frame(700, 4));
  for (const bool onto_file : {false, true}) {
    auto options = Mount::of("file");
    options.source_offset = 1001;
    options.onto_file = onto_file;
    Mount mount(options);
    mount.write("file", file);
    const auto id = onto_file ? kRootNode : mount.lookup("file").id;
    CHECK(mount.fs().tree().stat_node(id)->st_size == 1500);
    CHECK(mount.read_all(id) == test::noise(1500, 3));
    const auto opened = mount.open(id);
    CHECK(mount.fs().tree().stat_file(*opened.file)->st_size == 1500);
    mount.fs().contents().close(*opened.file);
  }
}

TEST_CASE("filesystem: a SOURCE that is nothing to mount is refused", "[fs][filesystem][unit]") {
  const test::TempDirectory folder;
  folder.write("text.b2", "no frame");
  folder.write("plain", "no frame");
  test::TestLog log;
  for (const auto& [name, expected] :
       std::map<std::string, int>{{"absent", ENOENT}, {"text.b2", ENOTDIR}, {"plain", ENOTDIR}}) {
    CAPTURE(name);
    MountOptions options;
    options.source = folder.path() / name;
    const auto opened = Filesystem::open(options, log.log());
    REQUIRE_FALSE(opened);
    CHECK(opened.error().sys == expected);
  }
}

// Both mounts show the same folder and have the file open for writing.
TEST_CASE("filesystem: the commit of another mount shows in a file that is open for writing",
          "[fs][filesystem][unit]") {
  Mount one;
  const auto made = one.fs().names().create_file(kRootNode, "log", 0644, O_RDWR, {});
  REQUIRE(made);
  auto& file = *made->opened.file;
  const auto write = [](Filesystem& fs, OpenFile& to, std::uint64_t at, const test::Bytes& bytes) {
    return fs.changes().write(to, at, bytes);
  };
  const auto text = test::noise(9000, 1);
  const auto part = [&](std::size_t from, std::size_t size) {
    return test::Bytes(text.begin() + static_cast<std::ptrdiff_t>(from),
                       text.begin() + static_cast<std::ptrdiff_t>(from + size));
  };
  REQUIRE(write(one.fs(), file, 0, part(0, 3000)));
  REQUIRE(one.fs().changes().sync(file, false));

  MountOptions options;
  options.source = one.path("");
  test::TestLog log;
  const auto other = Filesystem::open(options, log.log());
  REQUIRE(other);
  const auto entry = (*other)->tree().lookup(kRootNode, "log");
  REQUIRE(entry);
  const auto opened = (*other)->contents().open(entry->id, O_RDWR);
  REQUIRE(opened);
  auto& second = *opened->file;
  REQUIRE(write(**other, second, 3000, part(3000, 3000)));
  REQUIRE((*other)->changes().sync(second, false));

  const auto id = one.lookup("log").id;
  CHECK(one.fs().tree().stat_node(id)->st_size == 6000);
  CHECK(one.read(file, 0, 10000).value() == part(0, 6000));
  REQUIRE(write(one.fs(), file, 6000, part(6000, 3000)));
  REQUIRE(one.fs().changes().sync(file, false));
  CHECK(one.read(file, 0, 10000).value() == text);
  const auto stat = (*other)->tree().stat_file(second);
  REQUIRE(stat);
  CHECK(stat->st_size == 9000);

  (*other)->contents().close(second);
  one.fs().contents().close(file);
  CHECK(one.lines().empty());
}

// No lock protects the file: the second writer does not know framefs.
// Nothing of a new frame is read, because its creator knows it.
TEST_CASE("filesystem: a new frame that another program changes is not taken for the one created",
          "[fs][filesystem][unit]") {
  Mount mount;
  auto& fs = mount.fs();
  const auto made = fs.names().create_file(kRootNode, "new", 0644, O_RDWR, {});
  REQUIRE(made);
  CHECK(made->entry.stat.st_size == 0);
  CHECK(made->entry.stat.st_blksize == fs.tree().stat_file(*made->opened.file)->st_blksize);
  CHECK(made->entry.stat.st_ino == mount.stat("new.b2frame").st_ino);
  CHECK(made->entry.stat.st_nlink == 1);
  auto& file = *made->opened.file;
  const auto session = file.session.get();
  const auto change = GENERATE(0, 1, 2);
  CAPTURE(change);
  const FileReader source(UniqueFd(::open(mount.path("new.b2frame").c_str(), O_RDONLY)));
  test::Bytes bytes(source.size().value());
  REQUIRE(source.read_at(0, bytes));
  test::Bytes expected(2000);
  if (change == 0) mount.touch("new.b2frame");  // the same bytes at another time
  if (change == 1) {
    mount.write("new.b2frame", test::small_frame(3000, 1));
    expected = test::noise(3000, 1);
    expected.resize(2000);
  }
  if (change == 2) {
    // The fingerprint at the end of the trailer, which no reader compares: only the checksum of the
    // trailer tells the two states apart.
    bytes.back() ^= std::byte{1};
    mount.write("new.b2frame", bytes);
  }
  test::append(expected, test::noise(1000, 2));
  REQUIRE(fs.changes().write(file, 2000, test::noise(1000, 2)));
  CHECK((file.session.get() == session) == (change == 0));
  REQUIRE(fs.changes().sync(file, false));
  CHECK(mount.read(file, 0, 10000).value() == expected);
  fs.contents().close(file);
}

TEST_CASE("filesystem: bytes that cannot be committed any more are an error, at once and later",
          "[fs][filesystem][unit]") {
  Mount mount;
  const auto made = mount.fs().names().create_file(kRootNode, "x", 0644, O_RDWR, {});
  REQUIRE(made);
  auto& file = *made->opened.file;
  REQUIRE(mount.fs().changes().write(file, 0, test::noise(3000, 1)));
  REQUIRE(mount.fs().changes().sync(file, false));
  REQUIRE(mount.fs().changes().write(file, 1000, test::noise(100, 2)));
  mount.write("x.b2frame", test::small_frame(2500));

  const auto synced = mount.fs().changes().sync(file, false);
  REQUIRE_FALSE(synced);
  CHECK(synced.error().sys == EIO);
  const auto written = mount.fs().changes().write(file, 0, test::noise(100, 3));
  REQUIRE_FALSE(written);
  CHECK(written.error().sys == EIO);
  CHECK(mount.fs().changes().flush(file).error().sys == EIO);
  // All readers and writers that open the file now see the other writer's frame.
  CHECK(mount.read(file, 0, 10000).value() == test::noise(2500, 1));
  const auto again = mount.fs().contents().open(made->entry.id, O_RDWR);
  REQUIRE(again);
  REQUIRE(mount.fs().changes().write(*again->file, 0, test::noise(100, 3)));
  REQUIRE(mount.fs().changes().sync(*again->file, false));
  // A sync still fails on a handle that was opened before the replacement.
  CHECK_FALSE(mount.fs().changes().sync(file, false));
  mount.fs().contents().close(file);
  CHECK(mount.fs().changes().sync(*again->file, false));
  mount.fs().contents().close(*again->file);
}

TEST_CASE("filesystem: a rename over a file commits the new file first", "[fs][filesystem][unit]") {
  MountOptions options;
  options.write.commit_interval_ms = 3'600'000;
  Mount mount(std::move(options));
  const auto create = [&](const char* name, const test::Bytes& bytes) {
    auto made = mount.fs().names().create_file(kRootNode, name, 0644, O_RDWR, {});
    REQUIRE(made);
    REQUIRE(mount.fs().changes().write(*made->opened.file, 0, bytes));
    return std::move(made->opened.file);
  };
  auto old = create("settings", test::noise(3000, 1));
  REQUIRE(mount.fs().changes().sync(*old, false));
  mount.fs().contents().close(*old);
  const auto next = test::noise(2000, 2);
  // The file stays open, so that only the rename commits it.
  auto made = create("settings.new", next);
  REQUIRE(mount.fs().names().rename(kRootNode, "settings.new", kRootNode, "settings", 0));
  CHECK(test::read_stored(mount.path("settings.b2frame")) == next);
  mount.fs().contents().close(*made);
  CHECK(mount.read_all("settings") == next);
}

TEST_CASE("filesystem: a truncation to the same size sets the time for good",
          "[fs][filesystem][unit]") {
  Mount mount;
  mount.write("stamp.b2frame", test::small_frame(0));
  const auto id = mount.lookup("stamp").id;
  const auto before = mount.stat("stamp.b2frame").st_mtime;
  AttributeChange change;
  change.size = 0;
  const auto cut = mount.fs().attributes().set(id, change, nullptr);
  REQUIRE(cut);
  CHECK(cut->stat.st_mtime > before);
  CHECK(mount.stat("stamp.b2frame").st_mtime == cut->stat.st_mtime);
}

}  // namespace
}  // namespace framefs::fs::filesystem_frames_test

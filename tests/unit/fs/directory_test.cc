#include "fs/tree/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fs/tree/name_policy.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/small_frames.h"

namespace framefs::fs {
namespace {

enum class Kind { frame, damaged_frame, sparse_index, text, folder, link, fifo };
constexpr std::array kKinds = {Kind::frame,  Kind::damaged_frame, Kind::sparse_index, Kind::text,
                               Kind::folder, Kind::link,          Kind::fifo};

using Files = std::map<std::string, Kind>;         // name in SOURCE
using Shown = std::map<std::string, std::string>;  // name in the mount -> name in SOURCE

class Folder {
 public:
  explicit Folder(const Files& files = {}) {
    for (const auto& [name, kind] : files) add(name, kind);
    fd_ = UniqueFd(::open(temp_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(fd_);
  }

  void add(const std::string& name, Kind kind) const {
    const auto path = temp_.path() / name;
    if (kind == Kind::frame) temp_.write(name, test::small_frame(100));
    if (kind == Kind::damaged_frame) temp_.write(name, test::damaged_frame());
    if (kind == Kind::sparse_index) temp_.write(name, test::sparse_index(100));
    if (kind == Kind::text) temp_.write(name, "text");
    if (kind == Kind::folder) REQUIRE(std::filesystem::create_directory(path));
    if (kind == Kind::link) std::filesystem::create_symlink("target.b2", path);
    if (kind == Kind::fifo) REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return temp_.path(); }

 private:
  test::TempDirectory temp_;
  UniqueFd fd_;
};

struct Tree {
  explicit Tree(bool keep_suffix = false) : pool(2), directory(probe, pool, keep_suffix) {}
  FrameProbe probe;
  WorkerPool pool;
  Directory directory;
};

// What list() shows.  No name twice.
Shown listed(const Tree& tree, const Folder& folder) {
  const auto entries = tree.directory.list(folder.fd());
  REQUIRE(entries);
  Shown shown;
  for (const auto& entry : *entries) {
    CAPTURE(entry.shown_name);
    CHECK(shown.emplace(entry.shown_name, entry.source_name).second);
  }
  return shown;
}

// What find() says of a name, nothing where it is not shown.
std::string found(const Tree& tree, const Folder& folder, const std::string& name) {
  const auto result = tree.directory.find(folder.fd(), name);
  if (result) return result->source_name;
  CHECK(result.error().kind == Errc::system);
  CHECK(result.error().sys == ENOENT);
  return {};
}

// Both directions at once: list() shows what is expected, and find() finds that and nothing else of
// all the names there might be.
void check_both(const Tree& tree, const Folder& folder, const Shown& expected,
                const std::set<std::string>& names) {
  CHECK(listed(tree, folder) == expected);
  for (const auto& name : names) {
    CAPTURE(name);
    const auto at = expected.find(name);
    CHECK(found(tree, folder, name) == (at == expected.end() ? "" : at->second));
  }
}

// All names that the entries are, could be shortened to, or lengthened.
std::set<std::string> names_around(const Files& files) {
  std::set<std::string> names;
  for (const auto& [name, kind] : files) {
    names.insert(name);
    if (const auto shorter = stripped_name(name)) names.insert(std::string(*shorter));
    for (const auto suffix : kFrameSuffixes) names.insert(name + std::string(suffix));
  }
  names.insert("absent");
  return names;
}

TEST_CASE("directory: a frame loses its suffix unless that would hide something",
          "[fs][directory][unit]") {
  struct Row {
    const char* what;
    Files files;
    Shown expected;
  };
  const std::vector<Row> rows = {
      {"nothing", {}, {}},
      {"each suffix",
       {{"a.b2frame", Kind::frame}, {"b.b2f", Kind::frame}, {"c.b2", Kind::frame}},
       {{"a", "a.b2frame"}, {"b", "b.b2f"}, {"c", "c.b2"}}},
      {"the shorter name is taken by a file",
       {{"x.b2frame", Kind::frame}, {"x", Kind::text}},
       {{"x.b2frame", "x.b2frame"}, {"x", "x"}}},
      {"by a directory",
       {{"x.b2frame", Kind::frame}, {"x", Kind::folder}},
       {{"x.b2frame", "x.b2frame"}, {"x", "x"}}},
      {"by a link that leads nowhere",
       {{"x.b2frame", Kind::frame}, {"x", Kind::link}},
       {{"x.b2frame", "x.b2frame"}, {"x", "x"}}},
      {"two frames want it",
       {{"x.b2frame", Kind::frame}, {"x.b2", Kind::frame}},
       {{"x.b2frame", "x.b2frame"}, {"x.b2", "x.b2"}}},
      {"three frames want it",
       {{"x.b2frame", Kind::frame}, {"x.b2f", Kind::frame}, {"x.b2", Kind::frame}},
       {{"x.b2frame", "x.b2frame"}, {"x.b2f", "x.b2f"}, {"x.b2", "x.b2"}}},
      {"what only looks like a frame does not want it",
       {{"x.b2frame", Kind::frame}, {"x.b2", Kind::text}, {"x.b2f", Kind::folder}},
       {{"x", "x.b2frame"}, {"x.b2", "x.b2"}, {"x.b2f", "x.b2f"}}},
      {"a damaged frame does",
       {{"x.b2frame", Kind::frame}, {"x.b2", Kind::damaged_frame}},
       {{"x.b2frame", "x.b2frame"}, {"x.b2", "x.b2"}}},
      {"a damaged frame is shown as a frame", {{"x.b2", Kind::damaged_frame}}, {{"x", "x.b2"}}},
      {"a frame's shorter name has a frame's suffix",
       {{"x.b2.b2frame", Kind::frame}},
       {{"x.b2", "x.b2.b2frame"}}},
      {"and is taken by a frame that is itself shortened",
       {{"x.b2.b2frame", Kind::frame}, {"x.b2", Kind::frame}},
       {{"x.b2.b2frame", "x.b2.b2frame"}, {"x", "x.b2"}}},
      {"no frames behind the suffix",
       {{"x.b2", Kind::text}, {"y.b2", Kind::folder}, {"z.b2", Kind::link}, {"w.b2", Kind::fifo}},
       {{"x.b2", "x.b2"}, {"y.b2", "y.b2"}, {"z.b2", "z.b2"}, {"w.b2", "w.b2"}}},
      {"too little before the suffix",
       {{".b2frame", Kind::frame}, {"..b2", Kind::frame}, {"...b2", Kind::frame}},
       {{".b2frame", ".b2frame"}, {"..b2", "..b2"}, {"...b2", "...b2"}}},
      {"enough before it",
       {{"....b2", Kind::frame}, {".x.b2", Kind::frame}},
       {{"...", "....b2"}, {".x", ".x.b2"}}},
      {"lock files",
       {{"x.b2", Kind::frame}, {"x.b2.b2lock", Kind::text}, {".b2lock", Kind::folder}},
       {{"x", "x.b2"}}},
      {"a hidden entry keeps its name from a frame",
       {{"x.b2lock", Kind::text}, {"x.b2lock.b2", Kind::frame}},
       {{"x.b2lock.b2", "x.b2lock.b2"}}},
      {"a frame whose shorter name looks hidden",
       {{"x.b2lock.b2", Kind::frame}},
       {{"x.b2lock", "x.b2lock.b2"}}},
      {"a sparse frame's index",
       {{"chunks.b2frame", Kind::sparse_index}, {"00000000.chunk", Kind::text}},
       {{"chunks.b2frame", "chunks.b2frame"}, {"00000000.chunk", "00000000.chunk"}}},
      {"a sparse frame's index wants no other name",
       {{"chunks.b2frame", Kind::sparse_index}, {"chunks.b2", Kind::frame}},
       {{"chunks.b2frame", "chunks.b2frame"}, {"chunks", "chunks.b2"}}},
      {"a frame of that name that is no index",
       {{"chunks.b2frame", Kind::frame}},
       {{"chunks", "chunks.b2frame"}}},
      {"other bytes than letters",
       {{"\xff\xfe.b2", Kind::frame}, {"a b\n.b2", Kind::frame}, {"\xc3\xa9", Kind::text}},
       {{"\xff\xfe", "\xff\xfe.b2"}, {"a b\n", "a b\n.b2"}, {"\xc3\xa9", "\xc3\xa9"}}}};
  const Tree tree;
  for (const auto& row : rows) {
    CAPTURE(row.what);
    const Folder folder(row.files);
    check_both(tree, folder, row.expected, names_around(row.files));
  }
}

TEST_CASE("directory: names as long as names can be", "[fs][directory][unit]") {
  const std::string longest_frame = std::string(247, 'f') + ".b2frame";
  const std::string longest_short = std::string(252, 's') + ".b2";
  const std::string longest_text(255, 't');
  const Files files = {
      {longest_frame, Kind::frame}, {longest_short, Kind::frame}, {longest_text, Kind::text}};
  const Folder folder(files);
  const Tree tree;
  CHECK(listed(tree, folder) == Shown{{std::string(247, 'f'), longest_frame},
                                      {std::string(252, 's'), longest_short},
                                      {longest_text, longest_text}});
  CHECK(found(tree, folder, std::string(247, 'f')) == longest_frame);
  CHECK(found(tree, folder, std::string(252, 's')) == longest_short);
  CHECK(found(tree, folder, longest_text) == longest_text);
  CHECK(found(tree, folder, longest_frame).empty());
  CHECK(found(tree, folder, std::string(255, 'x')).empty());
  const auto too_long = tree.directory.find(folder.fd(), std::string(256, 'x'));
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().sys == ENAMETOOLONG);
}

TEST_CASE("directory: keep_suffix shows every name as it is, but for lock files",
          "[fs][directory][unit]") {
  const Files files = {{"x.b2frame", Kind::frame},
                       {"x.b2", Kind::frame},
                       {"y.b2", Kind::frame},
                       {"y.b2.b2lock", Kind::text},
                       {"z", Kind::text}};
  const Folder folder(files);
  const Tree tree(true);
  check_both(tree, folder,
             {{"x.b2frame", "x.b2frame"}, {"x.b2", "x.b2"}, {"y.b2", "y.b2"}, {"z", "z"}},
             names_around(files));
  const auto frame = tree.directory.find(folder.fd(), "y.b2");
  REQUIRE(frame);
  CHECK(frame->file.summary.nbytes == 100);
}

TEST_CASE("directory: entries say what they are", "[fs][directory][unit]") {
  const Folder folder({{"frame.b2", Kind::frame},
                       {"text", Kind::text},
                       {"sub", Kind::folder},
                       {"link", Kind::link},
                       {"fifo", Kind::fifo}});
  const Tree tree;
  const auto entries = tree.directory.list(folder.fd());
  REQUIRE(entries);
  CHECK(entries->size() == 5);
  for (const auto& entry : *entries) {
    CAPTURE(entry.source_name);
    struct stat st{};
    REQUIRE(::lstat((folder.path() / entry.source_name).c_str(), &st) == 0);
    CHECK(entry.inode == st.st_ino);
    CHECK((entry.type == IFTODT(st.st_mode) || entry.type == DT_UNKNOWN));
    if (entry.source_name == "frame.b2") {
      REQUIRE(entry.file);
      CHECK(entry.file->summary.nbytes == 100);
      CHECK(entry.file->stat.st_ino == st.st_ino);
    }
  }
  const auto text = tree.directory.find(folder.fd(), "text");
  REQUIRE(text);
  CHECK(text->file.stat.st_size == 4);
}

TEST_CASE("directory: names follow what the folder holds now", "[fs][directory][unit]") {
  const Folder folder({{"x.b2", Kind::frame}});
  const Tree tree;
  CHECK(listed(tree, folder) == Shown{{"x", "x.b2"}});
  folder.add("x", Kind::text);
  CHECK(listed(tree, folder) == Shown{{"x", "x"}, {"x.b2", "x.b2"}});
  CHECK(found(tree, folder, "x") == "x");
  REQUIRE(std::filesystem::remove(folder.path() / "x"));
  CHECK(found(tree, folder, "x") == "x.b2");
  CHECK(found(tree, folder, "x.b2").empty());
  REQUIRE(std::filesystem::remove(folder.path() / "x.b2"));
  CHECK(found(tree, folder, "x").empty());
  CHECK(listed(tree, folder).empty());
}

TEST_CASE("directory: what is no directory is refused", "[fs][directory][unit]") {
  const Folder folder({{"text", Kind::text}});
  const UniqueFd file(::open((folder.path() / "text").c_str(), O_RDONLY | O_CLOEXEC));
  const Tree tree;
  const auto entries = tree.directory.list(file.get());
  REQUIRE_FALSE(entries);
  CHECK(entries.error().sys == ENOTDIR);
  const auto entry = tree.directory.find(file.get(), "x");
  REQUIRE_FALSE(entry);
  CHECK(entry.error().sys == ENOTDIR);
}

// The rule in the words of the header, worked out by brute force.
Shown expected_of(const Files& files, bool keep_suffix) {
  const auto is_frame = [](const std::string& name, Kind kind) {
    if (!stripped_name(name)) return false;
    if (kind == Kind::sparse_index) return name != kSparseIndexName;
    return kind == Kind::frame || kind == Kind::damaged_frame;
  };
  Shown shown;
  for (const auto& [name, kind] : files) {
    if (is_hidden(name)) continue;
    std::string as = name;
    if (is_frame(name, kind) && !keep_suffix) {
      const std::string shorter(*stripped_name(name));
      bool free = !files.contains(shorter);
      for (const auto& [other, other_kind] : files) {
        if (other != name && is_frame(other, other_kind) && stripped_name(other) == shorter)
          free = false;
      }
      if (free) as = shorter;
    }
    shown.emplace(as, name);
  }
  return shown;
}

std::string random_name(std::mt19937& random) {
  constexpr std::array kBases = {"x", "y", ".", "..", "", "chunks", "\xff"};
  constexpr std::array kSuffixes = {".b2frame", ".b2f", ".b2", ".b2lock", ".b2nd"};
  std::string name = kBases[random() % kBases.size()];
  for (auto left = random() % 4; left > 0; --left) name += kSuffixes[random() % kSuffixes.size()];
  return name.empty() || name == "." || name == ".." ? "z" : name;
}

// Oracle: the brute-force rule, and list() and find() against each other.
TEST_CASE("directory: list() and find() agree on random folders", "[fs][directory][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 150; ++round) {
    Files files;
    for (auto left = random() % 12; left > 0; --left) {
      // Mostly frames: only they are renamed.
      const auto kind = random() % 3 != 0 ? Kind::frame : kKinds[random() % kKinds.size()];
      files.emplace(random_name(random), kind);
    }
    const Folder folder(files);
    for (const bool keep_suffix : {false, true}) {
      std::string what;
      for (const auto& [name, kind] : files) what += name + "=" + std::to_string(int(kind)) + " ";
      CAPTURE(what, keep_suffix);
      const Tree tree(keep_suffix);
      check_both(tree, folder, expected_of(files, keep_suffix), names_around(files));
    }
  }
}

// Oracle: every thread sees the whole folder, whose descriptor they share.
TEST_CASE("directory: listings at the same time do not disturb each other",
          "[fs][directory][race]") {
  Files files;
  for (int i = 0; i < 200; ++i) {
    files.emplace(std::to_string(i) + (i % 2 == 0 ? ".b2" : ""),
                  i % 2 == 0 ? Kind::frame : Kind::text);
  }
  const Folder folder(files);
  const Tree tree;
  std::vector<std::set<std::string>> shown(6);
  test::on_threads(shown.size(), [&](std::size_t thread) {
    for (int round = 0; round < 5; ++round) {
      const auto entries = tree.directory.list(folder.fd());
      if (!entries || entries->size() != 200) return;
      for (const auto& entry : *entries) shown[thread].insert(entry.shown_name);
    }
  });
  std::set<std::string> expected;
  for (int i = 0; i < 200; ++i) expected.insert(std::to_string(i));
  for (const auto& names : shown) CHECK(names == expected);
}

}  // namespace
}  // namespace framefs::fs

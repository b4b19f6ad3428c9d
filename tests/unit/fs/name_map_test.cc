#include "fs/tree/names/name_map.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/source_kinds.h"

namespace framefs::fs::name_map_test {
namespace {

namespace stdfs = std::filesystem;

struct Row {
  const char* what;
  Files files;
  Listing expected;
};

void check_rows(const std::vector<Row>& rows, bool keep_suffix, ArrayViews arrays) {
  NameTree tree(keep_suffix, arrays);
  for (const auto& row : rows) {
    CAPTURE(row.what);
    const SourceFiles source(row.files);
    check_both(tree.directory, tree.folder(source), row.expected, names_around(row.files));
  }
}

Shown as_frame(const char* source) { return {source, ShownAs::frame}; }
Shown as_itself(const char* source) { return {source, ShownAs::itself}; }
Shown as_npy(const char* source) { return {source, ShownAs::npy}; }
Shown as_array(const char* source) { return {source, ShownAs::array}; }

TEST_CASE("name_map: a frame loses its suffix unless that would hide something",
          "[fs][name_map][unit]") {
  check_rows(
      {{"nothing", {}, {}},
       {"each suffix",
        {{"a.b2frame", Kind::frame},
         {"b.b2f", Kind::frame},
         {"c.b2", Kind::frame},
         {"d.b2b", Kind::frame}},
        {{"a", as_frame("a.b2frame")},
         {"b", as_frame("b.b2f")},
         {"c", as_frame("c.b2")},
         {"d", as_frame("d.b2b")}}},
       {"the shorter name is taken by a file",
        {{"x.b2frame", Kind::frame}, {"x", Kind::text}},
        {{"x.b2frame", as_frame("x.b2frame")}, {"x", as_itself("x")}}},
       {"by a directory",
        {{"x.b2frame", Kind::frame}, {"x", Kind::folder}},
        {{"x.b2frame", as_frame("x.b2frame")}, {"x", as_itself("x")}}},
       {"by a link that leads nowhere",
        {{"x.b2frame", Kind::frame}, {"x", Kind::link}},
        {{"x.b2frame", as_frame("x.b2frame")}, {"x", as_itself("x")}}},
       {"two frames want it",
        {{"x.b2frame", Kind::frame}, {"x.b2", Kind::frame}},
        {{"x.b2frame", as_frame("x.b2frame")}, {"x.b2", as_frame("x.b2")}}},
       {"three frames want it",
        {{"x.b2frame", Kind::frame}, {"x.b2f", Kind::frame}, {"x.b2b", Kind::frame}},
        {{"x.b2frame", as_frame("x.b2frame")},
         {"x.b2f", as_frame("x.b2f")},
         {"x.b2b", as_frame("x.b2b")}}},
       {"what only looks like a frame does not want it",
        {{"x.b2frame", Kind::frame}, {"x.b2", Kind::text}, {"x.b2f", Kind::folder}},
        {{"x", as_frame("x.b2frame")}, {"x.b2", as_itself("x.b2")}, {"x.b2f", as_itself("x.b2f")}}},
       {"a damaged frame does",
        {{"x.b2frame", Kind::frame}, {"x.b2", Kind::damaged_frame}},
        {{"x.b2frame", as_frame("x.b2frame")}, {"x.b2", as_frame("x.b2")}}},
       {"a damaged frame is shown as a frame",
        {{"x.b2", Kind::damaged_frame}},
        {{"x", as_frame("x.b2")}}},
       {"a frame's shorter name has a frame's suffix",
        {{"x.b2.b2frame", Kind::frame}},
        {{"x.b2", as_frame("x.b2.b2frame")}}},
       {"and is taken by a frame that is itself shortened",
        {{"x.b2.b2frame", Kind::frame}, {"x.b2", Kind::frame}},
        {{"x.b2.b2frame", as_frame("x.b2.b2frame")}, {"x", as_frame("x.b2")}}},
       {"no frames behind the suffix",
        {{"x.b2", Kind::text}, {"y.b2", Kind::folder}, {"z.b2", Kind::link}, {"w.b2", Kind::fifo}},
        {{"x.b2", as_itself("x.b2")},
         {"y.b2", as_itself("y.b2")},
         {"z.b2", as_itself("z.b2")},
         {"w.b2", as_itself("w.b2")}}},
       {"too little before the suffix",
        {{".b2frame", Kind::frame}, {"..b2", Kind::frame}, {"...b2", Kind::frame}},
        {{".b2frame", as_itself(".b2frame")},
         {"..b2", as_itself("..b2")},
         {"...b2", as_itself("...b2")}}},
       {"enough before it",
        {{"....b2", Kind::frame}, {".x.b2", Kind::frame}},
        {{"...", as_frame("....b2")}, {".x", as_frame(".x.b2")}}},
       {"lock files",
        {{"x.b2", Kind::frame}, {"x.b2.b2lock", Kind::text}, {".b2lock", Kind::folder}},
        {{"x", as_frame("x.b2")}}},
       {"a hidden entry keeps its name from a frame",
        {{"x.b2lock", Kind::text}, {"x.b2lock.b2", Kind::frame}},
        {{"x.b2lock.b2", as_frame("x.b2lock.b2")}}},
       {"a frame whose shorter name looks hidden",
        {{"x.b2lock.b2", Kind::frame}},
        {{"x.b2lock", as_frame("x.b2lock.b2")}}},
       {"other bytes than letters",
        {{"\xff\xfe.b2", Kind::frame}, {"a b\n.b2", Kind::frame}, {"\xc3\xa9", Kind::text}},
        {{"\xff\xfe", as_frame("\xff\xfe.b2")},
         {"a b\n", as_frame("a b\n.b2")},
         {"\xc3\xa9", as_itself("\xc3\xa9")}}}},
      false, ArrayViews::npy);
}

TEST_CASE("name_map: a sparse frame is one file, its index and chunks are no frames",
          "[fs][name_map][unit]") {
  check_rows(
      {{"each suffix",
        {{"a.b2frame", Kind::sparse_frame},
         {"b.b2b", Kind::sparse_frame},
         {"c.b2nd", Kind::sparse_array},
         {"d.b2nd", Kind::sparse_frame}},
        {{"a", as_frame("a.b2frame")},
         {"b", as_frame("b.b2b")},
         {"c.npy", as_npy("c.b2nd")},
         {"d", as_frame("d.b2nd")}}},
       {"one of no such suffix stays a directory",
        {{"x", Kind::sparse_frame}, {"x.b2e", Kind::sparse_frame}},
        {{"x", as_itself("x")}, {"x.b2e", as_itself("x.b2e")}}},
       {"beside a contiguous one of the same name",
        {{"x.b2frame", Kind::sparse_frame}, {"x.b2", Kind::frame}},
        {{"x.b2frame", as_frame("x.b2frame")}, {"x.b2", as_frame("x.b2")}}},
       {"an index file where a frame could be",
        {{"chunks.b2frame", Kind::sparse_index}, {"00000000.chunk", Kind::text}},
        {{"chunks.b2frame", as_itself("chunks.b2frame")},
         {"00000000.chunk", as_itself("00000000.chunk")}}},
       {"it wants no other name",
        {{"chunks.b2frame", Kind::sparse_index}, {"chunks.b2", Kind::frame}},
        {{"chunks.b2frame", as_itself("chunks.b2frame")}, {"chunks", as_frame("chunks.b2")}}},
       {"a frame of that name that is no index",
        {{"chunks.b2frame", Kind::frame}},
        {{"chunks", as_frame("chunks.b2frame")}}}},
      false, ArrayViews::npy);
}

TEST_CASE("name_map: an array is a NumPy file where NumPy knows its items",
          "[fs][name_map][unit]") {
  check_rows({{"one of each",
               {{"x.b2nd", Kind::array}, {"y.b2nd", Kind::opaque_array}, {"z.b2nd", Kind::frame}},
               {{"x.npy", as_npy("x.b2nd")}, {"y", as_array("y.b2nd")}, {"z", as_frame("z.b2nd")}}},
              {"under another suffix it is a frame",
               {{"x.b2frame", Kind::array}},
               {{"x", as_frame("x.b2frame")}}},
              {"the bare name is free for others",
               {{"x.b2nd", Kind::array}, {"x", Kind::text}, {"x.b2", Kind::text}},
               {{"x.npy", as_npy("x.b2nd")}, {"x", as_itself("x")}, {"x.b2", as_itself("x.b2")}}},
              {"so is it for a frame",
               {{"x.b2nd", Kind::array}, {"x.b2", Kind::frame}},
               {{"x.npy", as_npy("x.b2nd")}, {"x", as_frame("x.b2")}}},
              {"its name is taken",
               {{"x.b2nd", Kind::array}, {"x.npy", Kind::text}},
               {{"x.b2nd", as_npy("x.b2nd")}, {"x.npy", as_itself("x.npy")}}},
              {"also where a frame wants the same",
               {{"x.b2nd", Kind::array}, {"x.npy.b2", Kind::frame}},
               {{"x.npy", as_npy("x.b2nd")}, {"x.npy.b2", as_frame("x.npy.b2")}}},
              {"an opaque array wants the same",
               {{"x.b2nd", Kind::array}, {"x.npy.b2nd", Kind::opaque_array}},
               {{"x.b2nd", as_npy("x.b2nd")}, {"x.npy.b2nd", as_array("x.npy.b2nd")}}}},
             false, ArrayViews::npy);
}

TEST_CASE("name_map: an array precedes frames of bytes that want the name of its NumPy file",
          "[fs][name_map][unit]") {
  check_rows(
      {{"one frame",
        {{"x.b2nd", Kind::array}, {"x.npy.b2frame", Kind::frame}},
        {{"x.npy", as_npy("x.b2nd")}, {"x.npy.b2frame", as_frame("x.npy.b2frame")}}},
       {"several frames, one of them damaged",
        {{"x.b2nd", Kind::array}, {"x.npy.b2", Kind::damaged_frame}, {"x.npy.b2f", Kind::frame}},
        {{"x.npy", as_npy("x.b2nd")},
         {"x.npy.b2", as_frame("x.npy.b2")},
         {"x.npy.b2f", as_frame("x.npy.b2f")}}},
       {"but not a file that has the name",
        {{"x.b2nd", Kind::array}, {"x.npy.b2frame", Kind::frame}, {"x.npy", Kind::text}},
        {{"x.npy", as_itself("x.npy")},
         {"x.b2nd", as_npy("x.b2nd")},
         {"x.npy.b2frame", as_frame("x.npy.b2frame")}}},
       {"nor another array",
        {{"x.b2nd", Kind::array}, {"x.npy.b2nd", Kind::opaque_array}, {"x.npy.b2", Kind::frame}},
        {{"x.b2nd", as_npy("x.b2nd")},
         {"x.npy.b2nd", as_array("x.npy.b2nd")},
         {"x.npy.b2", as_frame("x.npy.b2")}}},
       {"and an array that is shown as its bytes does not",
        {{"x.b2nd", Kind::opaque_array}, {"x.b2frame", Kind::frame}},
        {{"x.b2nd", as_array("x.b2nd")}, {"x.b2frame", as_frame("x.b2frame")}}}},
      false, ArrayViews::npy);
}

TEST_CASE("name_map: an array may be its bytes, or both", "[fs][name_map][unit]") {
  check_rows(
      {{"bytes",
        {{"x.b2nd", Kind::array}, {"y.b2nd", Kind::opaque_array}, {"x.npy", Kind::text}},
        {{"x", as_array("x.b2nd")}, {"y", as_array("y.b2nd")}, {"x.npy", as_itself("x.npy")}}}},
      false, ArrayViews::raw);
  check_rows(
      {{"both",
        {{"x.b2nd", Kind::array}, {"y.b2nd", Kind::opaque_array}},
        {{"x", as_array("x.b2nd")}, {"x.npy", as_npy("x.b2nd")}, {"y", as_array("y.b2nd")}}},
       {"one of the names is taken: both keep the suffix",
        {{"x.b2nd", Kind::array}, {"x", Kind::text}},
        {{"x.b2nd", as_array("x.b2nd")}, {"x.b2nd.npy", as_npy("x.b2nd")}, {"x", as_itself("x")}}},
       {"so it is with the other",
        {{"x.b2nd", Kind::array}, {"x.npy", Kind::text}},
        {{"x.b2nd", as_array("x.b2nd")},
         {"x.b2nd.npy", as_npy("x.b2nd")},
         {"x.npy", as_itself("x.npy")}}},
       {"the second of the long names is taken as well, and given up",
        {{"x.b2nd", Kind::array}, {"x", Kind::text}, {"x.b2nd.npy", Kind::text}},
        {{"x.b2nd", as_array("x.b2nd")},
         {"x.b2nd.npy", as_itself("x.b2nd.npy")},
         {"x", as_itself("x")}}},
       {"or wanted by a frame",
        {{"x.b2nd", Kind::array}, {"x", Kind::text}, {"x.b2nd.npy.b2", Kind::frame}},
        {{"x.b2nd", as_array("x.b2nd")},
         {"x.b2nd.npy", as_frame("x.b2nd.npy.b2")},
         {"x", as_itself("x")}}}},
      false, ArrayViews::both);
  check_rows({{"both under full names",
               {{"x.b2nd", Kind::array}, {"y.b2nd", Kind::array}, {"y.b2nd.npy", Kind::text}},
               {{"x.b2nd", as_array("x.b2nd")},
                {"x.b2nd.npy", as_npy("x.b2nd")},
                {"y.b2nd", as_array("y.b2nd")},
                {"y.b2nd.npy", as_itself("y.b2nd.npy")}}}},
             true, ArrayViews::both);
}

TEST_CASE("name_map: names as long as names can be", "[fs][name_map][unit]") {
  const std::string longest_frame = std::string(247, 'f') + ".b2frame";
  const std::string longest_short = std::string(252, 's') + ".b2";
  const std::string longest_text(255, 't');
  const SourceFiles source(
      {{longest_frame, Kind::frame}, {longest_short, Kind::frame}, {longest_text, Kind::text}});
  NameTree tree;
  const auto folder = tree.folder(source);
  const Listing expected = {{std::string(247, 'f'), {longest_frame, ShownAs::frame}},
                            {std::string(252, 's'), {longest_short, ShownAs::frame}},
                            {longest_text, {longest_text, ShownAs::itself}}};
  CHECK(listed(tree.directory, folder) == expected);
  for (const auto& [name, shown] : expected) {
    CHECK(found(tree.directory, folder, name) == shown);
  }
  CHECK(found(tree.directory, folder, longest_frame, false) ==
        Shown{longest_frame, ShownAs::frame});
  for (const auto& absent : {std::string(248, 'x'), std::string(253, 'x'), std::string(255, 'x'),
                             std::string(251, 'x') + ".npy"}) {
    CAPTURE(absent.size());
    CHECK(found(tree.directory, folder, absent).source.empty());
  }
  const auto too_long = tree.directory.find(folder, std::string(256, 'x'));
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().sys == ENAMETOOLONG);
}

// The second name of an array is longer than the name of its file.
TEST_CASE("name_map: a second name that would be too long is given up", "[fs][name_map][unit]") {
  const std::string longest = std::string(250, 'a') + ".b2nd";
  const SourceFiles source({{longest, Kind::array}, {std::string(250, 'a'), Kind::text}});
  NameTree npy;
  // The suffix .npy is shorter than .b2nd.
  CHECK(listed(npy.directory, npy.folder(source)) ==
        Listing{{std::string(250, 'a') + ".npy", {longest, ShownAs::npy}},
                {std::string(250, 'a'), {std::string(250, 'a'), ShownAs::itself}}});
  NameTree both(false, ArrayViews::both);
  const auto folder = both.folder(source);
  for (const auto& [name, shown] : listed(both.directory, folder)) {
    CAPTURE(name);
    CHECK(name.size() <= 255);
    CHECK(found(both.directory, folder, name) == shown);
  }
  CHECK(listed(both.directory, folder).contains(longest));
}

TEST_CASE("name_map: keep_suffix shows every name as it is, but for lock files",
          "[fs][name_map][unit]") {
  check_rows({{"all kinds",
               {{"x.b2frame", Kind::frame},
                {"x.b2", Kind::sparse_frame},
                {"y.b2nd", Kind::array},
                {"y.b2nd.b2lock", Kind::text},
                {"z", Kind::text}},
               {{"x.b2frame", as_frame("x.b2frame")},
                {"x.b2", as_frame("x.b2")},
                {"y.b2nd", as_npy("y.b2nd")},
                {"z", as_itself("z")}}}},
             true, ArrayViews::npy);
}

TEST_CASE("name_map: entries have their types", "[fs][name_map][unit]") {
  const SourceFiles source({{"frame.b2", Kind::frame},
                            {"sparse.b2", Kind::sparse_frame},
                            {"array.b2nd", Kind::array},
                            {"text", Kind::text},
                            {"sub", Kind::folder},
                            {"link", Kind::link},
                            {"fifo", Kind::fifo}});
  NameTree tree;
  const auto folder = tree.folder(source);
  const auto entries = tree.directory.list(folder);
  REQUIRE(entries);
  CHECK(entries->size() == 7);
  for (const auto& [shown, item] : *entries) {
    CAPTURE(item.name);
    struct stat st{};
    REQUIRE(::lstat((source.path() / item.name).c_str(), &st) == 0);
    CHECK(item.inode == st.st_ino);
    const unsigned type = shown.shown_as == ShownAs::itself ? IFTODT(st.st_mode) : +DT_REG;
    CHECK((item.type == type || item.type == DT_UNKNOWN));
    if (shown.shown_as == ShownAs::itself) continue;
    const auto by_name = tree.directory.find(folder, shown.name);
    REQUIRE(by_name);
    CHECK(by_name->entry.stat.st_ino == st.st_ino);
    CHECK(by_name->entry.summary.nbytes == (shown.shown_as == ShownAs::npy ? 1200 : 100));
  }
  const auto text = tree.directory.find(folder, "text");
  REQUIRE(text);
  CHECK(text->entry.stat.st_size == 4);
}

TEST_CASE("name_map: names follow the current content of the folder", "[fs][name_map][unit]") {
  const SourceFiles source({{"x.b2", Kind::frame}});
  NameTree tree;
  const auto folder = tree.folder(source);
  CHECK(listed(tree.directory, folder) == Listing{{"x", as_frame("x.b2")}});
  source.add("x", Kind::text);
  CHECK(listed(tree.directory, folder) ==
        Listing{{"x", as_itself("x")}, {"x.b2", as_frame("x.b2")}});
  CHECK(found(tree.directory, folder, "x") == as_itself("x"));
  REQUIRE(stdfs::remove(source.path() / "x"));
  CHECK(found(tree.directory, folder, "x") == as_frame("x.b2"));
  CHECK(found(tree.directory, folder, "x.b2", false) == as_frame("x.b2"));
  REQUIRE(stdfs::remove(source.path() / "x.b2"));
  CHECK(found(tree.directory, folder, "x") == Shown{});
  CHECK(listed(tree.directory, folder).empty());
}

TEST_CASE("name_map: a file that is not a directory is refused", "[fs][name_map][unit]") {
  const SourceFiles source({{"text", Kind::text}});
  NameTree tree;
  const DiskFolder file(source.open("text"), tree.probe);
  const auto entries = tree.directory.list(file);
  REQUIRE_FALSE(entries);
  CHECK(entries.error().sys == ENOTDIR);
  const auto entry = tree.directory.find(file, "x");
  REQUIRE_FALSE(entry);
  CHECK(entry.error().sys == ENOTDIR);
}

// The only entry of a mount need not have a suffix.
TEST_CASE("name_map: one entry alone is shown as the content that is expected",
          "[fs][name_map][unit]") {
  struct LoneRow {
    std::string name;
    Kind kind;
    Listing expected;
  };
  for (const auto& row : {LoneRow{"x.b2frame", Kind::frame, {{"x", as_frame("x.b2frame")}}},
                          LoneRow{"plain", Kind::frame, {{"plain", as_frame("plain")}}},
                          LoneRow{"folder", Kind::sparse_frame, {{"folder", as_frame("folder")}}},
                          LoneRow{"x.b2nd", Kind::array, {{"x.npy", as_npy("x.b2nd")}}},
                          LoneRow{"data", Kind::array, {{"data", as_npy("data")}}},
                          LoneRow{"data.npy", Kind::array, {{"data.npy", as_npy("data.npy")}}}}) {
    CAPTURE(row.name);
    // Files beside it do not matter.
    const SourceFiles source({{row.name, row.kind}, {"x", Kind::text}, {"x.npy", Kind::text}});
    NameTree tree;
    const SingleEntryFolder folder(source.open(), row.name, Expected::array, tree.probe);
    check_both(tree.directory, folder, row.expected, {row.name, "x", "x.npy", "data", "y"});
  }
}

// Oracle: every thread sees the complete folder.  The threads share its descriptor.
TEST_CASE("name_map: listings at the same time do not disturb each other", "[fs][name_map][race]") {
  Files files;
  for (int i = 0; i < 200; ++i) {
    files.emplace(std::to_string(i) + (i % 2 == 0 ? ".b2" : ""),
                  i % 2 == 0 ? Kind::frame : Kind::text);
  }
  const SourceFiles source(files);
  NameTree tree;
  const auto folder = tree.folder(source);
  std::vector<std::set<std::string>> shown(6);
  test::on_threads(shown.size(), [&](std::size_t thread) {
    for (int round = 0; round < 5; ++round) {
      const auto entries = tree.directory.list(folder);
      if (!entries || entries->size() != 200) return;
      for (const auto& entry : *entries) shown[thread].insert(entry.shown.name);
    }
  });
  std::set<std::string> expected;
  for (int i = 0; i < 200; ++i) expected.insert(std::to_string(i));
  for (const auto& names : shown) CHECK(names == expected);
}

}  // namespace
}  // namespace framefs::fs::name_map_test

#include "fs/tree/names/shown_names.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fs/source/suffixes.h"
#include "tests/support/catch.h"

namespace framefs::fs::shown_names_test {
namespace {

using namespace std::string_view_literals;
using Names = std::vector<ShownName>;

constexpr FrameSummary kFrame{.content = Content::frame};
constexpr FrameSummary kNumpy{.content = Content::array, .is_numpy = true};
constexpr FrameSummary kOpaque{.content = Content::array};

TEST_CASE("shown_names: a suffix implies the content of the file", "[fs][shown_names][unit]") {
  struct Row {
    std::string_view name;
    Expected expected;
  };
  for (const auto& row :
       {Row{"x.b2frame", Expected::frame},     Row{"x.b2f", Expected::frame},
        Row{"x.b2", Expected::frame},          Row{"x.b2b", Expected::frame},
        Row{"x.b2nd", Expected::array},        Row{"x.b2e", Expected::embed_container},
        Row{"x.b2z", Expected::zip_container}, Row{"x.b2nd.b2", Expected::frame},
        Row{"x.b2.b2nd", Expected::array},     Row{".x.b2nd", Expected::array},
        Row{"\xff.b2nd", Expected::array},     Row{"....b2nd", Expected::array},
        Row{"x", Expected::nothing},           Row{"", Expected::nothing},
        Row{".b2nd", Expected::nothing},       Row{"..b2nd", Expected::nothing},
        Row{"...b2nd", Expected::nothing},     Row{".b2e", Expected::nothing},
        Row{"x.b2d", Expected::nothing},       Row{"x.B2ND", Expected::nothing},
        Row{"x.b2nd ", Expected::nothing},     Row{"x.npy", Expected::nothing},
        Row{"xb2nd", Expected::nothing}}) {
    CAPTURE(row.name);
    CHECK(expected_content(row.name) == row.expected);
  }
}

TEST_CASE("shown_names: a frame's suffix is taken off where something is left",
          "[fs][shown_names][unit]") {
  struct Row {
    std::string_view name;
    std::string_view expected;  // empty: none
  };
  for (const auto& row :
       {Row{"x.b2frame", "x"}, Row{"x.b2f", "x"}, Row{"x.b2", "x"}, Row{"x.b2b", "x"},
        Row{"x.b2nd", "x"}, Row{"x.tar.b2", "x.tar"}, Row{"x.b2.b2frame", "x.b2"},
        Row{"x.b2f.b2", "x.b2f"}, Row{" .b2", " "}, Row{"....b2", "..."}, Row{"..x.b2", "..x"},
        Row{".x.b2", ".x"}, Row{"\xff\xfe.b2", "\xff\xfe"}, Row{".b2.b2", ".b2"},
        Row{"chunks.b2frame", "chunks"},
        // Empty results, and names that no directory entry may have.
        Row{".b2frame", ""}, Row{".b2f", ""}, Row{".b2", ""}, Row{"..b2", ""}, Row{"...b2", ""},
        Row{"..b2frame", ""}, Row{"...b2frame", ""}, Row{"..b2nd", ""},
        // Not suffixes of files.
        Row{"", ""}, Row{"x", ""}, Row{"x.b2e", ""}, Row{"x.b2z", ""}, Row{"x.B2", ""},
        Row{"xb2", ""}, Row{"x.b2 ", ""}, Row{"x.b2frame.txt", ""}, Row{"b2frame", ""},
        Row{"x.b2frames", ""}}) {
    CAPTURE(row.name);
    Names expected;
    if (!row.expected.empty()) expected = {{std::string(row.expected), ShownAs::frame}};
    for (const auto arrays : {ArrayViews::npy, ArrayViews::raw, ArrayViews::both}) {
      CHECK(wanted_names(row.name, kFrame, arrays) == expected);
    }
  }
}

TEST_CASE("shown_names: a file that is not a frame wants no other name",
          "[fs][shown_names][unit]") {
  for (const auto content : {Content::other, Content::embed_container, Content::zip_container}) {
    for (const auto name : {"x.b2"sv, "x.b2nd"sv, "x.b2e"sv, "x.b2z"sv, "x"sv}) {
      CAPTURE(name);
      CHECK(wanted_names(name, {.content = content}, ArrayViews::both).empty());
    }
  }
}

TEST_CASE("shown_names: an array has the names that the mount's options ask for",
          "[fs][shown_names][unit]") {
  struct Row {
    FrameSummary file;
    ArrayViews arrays;
    Names wanted;
    Names full;
  };
  const ShownName raw{"x", ShownAs::array};
  const ShownName npy{"x.npy", ShownAs::npy};
  const ShownName full_raw{"x.b2nd", ShownAs::array};
  const ShownName full_npy{"x.b2nd.npy", ShownAs::npy};
  for (const auto& row : {Row{kNumpy, ArrayViews::npy, {npy}, {{"x.b2nd", ShownAs::npy}}},
                          Row{kNumpy, ArrayViews::raw, {raw}, {full_raw}},
                          Row{kNumpy, ArrayViews::both, {raw, npy}, {full_raw, full_npy}},
                          // NumPy has no name for the items.
                          Row{kOpaque, ArrayViews::npy, {raw}, {full_raw}},
                          Row{kOpaque, ArrayViews::raw, {raw}, {full_raw}},
                          Row{kOpaque, ArrayViews::both, {raw}, {full_raw}}}) {
    CAPTURE(row.file.is_numpy, static_cast<int>(row.arrays));
    CHECK(wanted_names("x.b2nd", row.file, row.arrays) == row.wanted);
    CHECK(full_names("x.b2nd", row.file, row.arrays) == row.full);
  }
}

TEST_CASE("shown_names: a full name comes first and is the file's own", "[fs][shown_names][unit]") {
  struct Row {
    Content content;
    ShownAs shown_as;
  };
  for (const auto& row : {Row{Content::other, ShownAs::itself}, Row{Content::frame, ShownAs::frame},
                          Row{Content::embed_container, ShownAs::container},
                          Row{Content::zip_container, ShownAs::container}}) {
    for (const auto name : {"x.b2"sv, "x"sv, "x.b2z"sv, ".b2"sv}) {
      CHECK(full_names(name, {.content = row.content}, ArrayViews::both) ==
            Names{{std::string(name), row.shown_as}});
    }
  }
}

// Oracle: wanted_names() of every file that may want the name.
TEST_CASE("shown_names: no file that may want a name is forgotten", "[fs][shown_names][unit]") {
  const std::vector<std::string> stems = {"x",         "x.npy", "x.b2",  "x.b2nd",
                                          "x.npy.npy", ".x",    "...",   "x.b2.b2nd",
                                          ".npy",      "x.b2e", "x.b2z", "x.b2nd.npy"};
  for (const auto& stem : stems) {
    for (const auto suffix : {".b2frame", ".b2f", ".b2", ".b2b", ".b2nd", ".b2e", ".b2z", ".b2d"}) {
      const std::string source = stem + suffix;
      for (const auto& file : {kFrame, kNumpy, kOpaque}) {
        for (const auto arrays : {ArrayViews::npy, ArrayViews::raw, ArrayViews::both}) {
          // Arrays are only expected under their own suffix.
          if (file.content == Content::array && expected_content(source) != Expected::array) {
            continue;
          }
          for (const auto& shown : wanted_names(source, file, arrays)) {
            CAPTURE(source, shown.name);
            const auto sources = possible_sources(shown.name);
            CHECK(std::ranges::count(sources, source) == 1);
          }
        }
      }
    }
  }
}

TEST_CASE("shown_names: lock files are hidden and nothing else", "[fs][shown_names][unit]") {
  for (const auto name : {"x.b2frame.b2lock"sv, "x.b2lock"sv, ".b2lock"sv}) CHECK(is_hidden(name));
  for (const auto name :
       {"x.b2lock.b2frame"sv, "b2lock"sv, "x.b2frame"sv, ".hidden"sv, ""sv, "x.b2nd"sv}) {
    CAPTURE(name);
    CHECK_FALSE(is_hidden(name));
  }
}

TEST_CASE("shown_names: the names that something could have come in order of likeness",
          "[fs][shown_names][unit]") {
  using Sources = std::vector<std::string>;
  CHECK(source_names({"y", ShownAs::frame}, "x.b2f") ==
        Sources{"y.b2f", "y.b2frame", "y.b2", "y.b2b", "y"});
  CHECK(source_names({"y", ShownAs::frame}, "") ==
        Sources{"y.b2frame", "y.b2f", "y.b2", "y.b2b", "y"});
  CHECK(source_names({"y", ShownAs::frame}, "x.b2nd") ==
        Sources{"y.b2frame", "y.b2f", "y.b2", "y.b2b", "y.b2nd", "y"});
  CHECK(source_names({"y", ShownAs::array}, "x.b2nd") == Sources{"y.b2nd", "y"});
  CHECK(source_names({"y.npy", ShownAs::npy}, "x.b2nd") == Sources{"y.b2nd", "y", "y.npy"});
  CHECK(source_names({"y", ShownAs::npy}, "x.b2nd") == Sources{"y"});
  CHECK(source_names({"y", ShownAs::itself}, "x") == Sources{"y"});
  CHECK(source_names({"y.b2z", ShownAs::container}, "x.b2z") == Sources{"y.b2z"});
}

}  // namespace
}  // namespace framefs::fs::shown_names_test

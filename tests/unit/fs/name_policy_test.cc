#include "fs/tree/name_policy.h"

#include <string_view>

#include "tests/support/catch.h"

namespace framefs::fs {
namespace {

using namespace std::string_view_literals;

TEST_CASE("name_policy: a frame's suffix is taken off where something is left",
          "[fs][name_policy][unit]") {
  struct Row {
    std::string_view name;
    std::optional<std::string_view> expected;
  };
  constexpr auto kNone = std::nullopt;
  for (const auto& row :
       {Row{"x.b2frame", "x"}, Row{"x.b2f", "x"}, Row{"x.b2", "x"}, Row{"x.tar.b2", "x.tar"},
        Row{"x.b2.b2frame", "x.b2"}, Row{"x.b2f.b2", "x.b2f"}, Row{" .b2", " "},
        Row{"....b2", "..."}, Row{"..x.b2", "..x"}, Row{".x.b2", ".x"},
        Row{"\xff\xfe.b2", "\xff\xfe"}, Row{".b2.b2", ".b2"}, Row{"chunks.b2frame", "chunks"},
        // Nothing left, or what no directory entry may be called.
        Row{".b2frame", kNone}, Row{".b2f", kNone}, Row{".b2", kNone}, Row{"..b2", kNone},
        Row{"...b2", kNone}, Row{"..b2frame", kNone}, Row{"...b2frame", kNone},
        // Not the suffixes.
        Row{"", kNone}, Row{"x", kNone}, Row{"x.b2nd", kNone}, Row{"x.B2", kNone},
        Row{"xb2", kNone}, Row{"x.b2 ", kNone}, Row{"x.b2frame.txt", kNone}, Row{"b2frame", kNone},
        Row{"x.b2frames", kNone}}) {
    CAPTURE(row.name);
    CHECK(stripped_name(row.name) == row.expected);
  }
}

TEST_CASE("name_policy: lock files are hidden and nothing else", "[fs][name_policy][unit]") {
  for (const auto name : {"x.b2frame.b2lock"sv, "x.b2lock"sv, ".b2lock"sv}) CHECK(is_hidden(name));
  for (const auto name : {"x.b2lock.b2frame"sv, "b2lock"sv, "x.b2frame"sv, ".hidden"sv, ""sv}) {
    CAPTURE(name);
    CHECK_FALSE(is_hidden(name));
  }
}

}  // namespace
}  // namespace framefs::fs

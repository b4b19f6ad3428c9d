#include "codec/array/python_literal.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/outcome.h"

namespace framefs::codec::python_literal_test {
namespace {

using Kind = PythonLiteral::Kind;
using test::outcome;

// The value in a canonical form, so that tests can compare it as text.
std::string written(const PythonLiteral::Value& value) {
  const auto all = [&](const char* open, const char* close) {
    std::string out = open;
    for (const auto& item : value.items()) out += written(item) + ',';
    return out + close;
  };
  switch (value.kind()) {
    case Kind::none:
      return "None";
    case Kind::boolean:
      return value.number() != 0 ? "True" : "False";
    case Kind::number:
      return std::to_string(value.number());
    case Kind::string:
      return python_ascii(value.string());
    case Kind::list:
      return all("[", "]");
    case Kind::tuple:
      return all("(", ")");
    case Kind::dict:
      return all("{", "}");
  }
  return {};
}

std::string parsed(std::string_view text) {
  const auto literal = PythonLiteral::parse(text);
  return literal ? written(literal->root()) : outcome(literal);
}

TEST_CASE("python_literal: values of every kind are read", "[codec][python_literal][unit]") {
  CHECK(parsed("None") == "None");
  CHECK(parsed("True") == "True");
  CHECK(parsed("False") == "False");
  CHECK(parsed("0") == "0");
  CHECK(parsed("18446744073709551615") == "18446744073709551615");
  CHECK(parsed("12L") == "12");
  CHECK(parsed("'a'") == "'a'");
  CHECK(parsed("u\"a\"") == "'a'");
  CHECK(parsed("[]") == "[]");
  CHECK(parsed("()") == "()");
  CHECK(parsed("{}") == "{}");
  CHECK(parsed(" [ 1 ,\t'b' ,\n( 2 , ) , { 'k' : [ 3 ] } , ] ") == "[1,'b',(2,),{'k',[3,],},]");
}

TEST_CASE("python_literal: parentheses around one value make no tuple",
          "[codec][python_literal][unit]") {
  CHECK(parsed("(1)") == "1");
  CHECK(parsed("([1, 2])") == "[1,2,]");
  CHECK(parsed("[((1)), (((2,)), 3)]") == "[1,((2,),3,),]");
  CHECK(parsed("((((5,))))") == "(5,)");
}

TEST_CASE("python_literal: strings are read as Python does", "[codec][python_literal][unit]") {
  CHECK(parsed(R"('\\\'\"\n\t\r')") == R"('\\\'"\n\t\r')");
  CHECK(parsed(R"('\a\b\f\v\0\x41\101\7z')") == R"('\x07\x08\x0c\x0b\x00AA\x07z')");
  CHECK(parsed(R"('\u20ac\U0001F600\xDF')") == R"('\u20ac\U0001f600\xdf')");
  CHECK(parsed("'\u20ac\U0001F600\u00df'") == R"('\u20ac\U0001f600\xdf')");
  CHECK(parsed(R"('\ud800')") == R"('\ud800')");
  CHECK(parsed(R"('\q\8')") == R"('\\q\\8')");  // not escapes: the backslashes stay
  CHECK(parsed("'a\\\nb'") == "'ab'");
  CHECK(parsed(R"("it's")") == R"("it's")");
  CHECK(parsed(R"('"')") == R"('"')");
  CHECK(parsed(R"("'\"")") == R"('\'"')");
  CHECK(parsed("'\x7f'") == R"('\x7f')");
}

TEST_CASE("python_literal: a text that is not a literal is refused with the place of the error",
          "[codec][python_literal][corrupt]") {
  struct Case {
    std::string text;
    std::string expect;
  };
  for (const auto& c : std::vector<Case>{
           {"", "truncated: literal at 0"},
           {" ", "truncated: literal at 1"},
           {"[1", "truncated: literal at 2"},
           {"[1 2]", "bad field: literal at 3"},
           {"[,]", "bad field: literal at 1"},
           {"(1,,)", "bad field: literal at 3"},
           {"[1)", "bad field: literal at 2"},
           {"1 2", "bad field: literal at 2"},
           {"{1}", "bad field: literal at 2"},
           {"{1:}", "bad field: literal at 3"},
           {"{1:2 3:4}", "bad field: literal at 5"},
           {"-1", "bad field: literal at 0"},
           {"1.5", "bad field: number at 1"},
           {"1e3", "bad field: number at 1"},
           {"0x10", "bad field: number at 1"},
           {"007", "bad field: number at 0"},
           {"18446744073709551616", "over limit: number at 0"},
           {"99999999999999999999999999", "over limit: number at 0"},
           {"none", "bad field: literal at 0"},
           {"numpy.record", "bad field: literal at 0"},
           {"b'x'", "bad field: literal at 0"},
           {"'a", "truncated: string at 2"},
           {"'a\n'", "bad field: string at 2"},
           {"'a' 'b'", "bad field: literal at 4"},
           {"'''a'''", "bad field: literal at 2"},
           {"'\\", "truncated: escape at 2"},
           {R"('\x4')", "bad field: escape at 4"},
           {R"('\x4)", "truncated: escape at 4"},
           {R"('\u12g4')", "bad field: escape at 5"},
           {R"('\U00110000')", "bad field: escape at 11"},
           {R"('\N{DASH}')", "bad field: escape at 2"},
           {"'\x80'", "bad field: string at 1"},              // a continuation byte without a start
           {"'\xc0\xaf'", "bad field: string at 1"},          // overlong
           {"'\xe0\x80\xaf'", "bad field: string at 1"},      // overlong
           {"'\xed\xa0\x80'", "bad field: string at 1"},      // a surrogate
           {"'\xf4\x90\x80\x80'", "bad field: string at 1"},  // beyond Unicode
           {"'\xf5\x80\x80\x80'", "bad field: string at 1"},
           {"'\xc3'", "bad field: string at 1"},
           {"'\xe2\x82", "truncated: string at 1"},
           {std::string("\0", 1), "bad field: literal at 0"},
       }) {
    INFO(c.text);
    CHECK(parsed(c.text) == c.expect);
  }
}

TEST_CASE("python_literal: nesting and length are bounded", "[codec][python_literal][corrupt]") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(PythonLiteral::parse(nested(PythonLiteral::kMaxDepth + 1)));
  CHECK(parsed(nested(PythonLiteral::kMaxDepth + 2)) == "over limit: nesting at 33");
  CHECK(parsed(std::string(100000, '(')) == "over limit: nesting at 33");
  std::string longest = "[";
  while (longest.size() < PythonLiteral::kMaxTextBytes - 2) longest += "1,";
  longest += ']';
  REQUIRE(longest.size() == PythonLiteral::kMaxTextBytes);
  const auto literal = PythonLiteral::parse(longest);
  REQUIRE(literal);
  CHECK(literal->root().size() == PythonLiteral::kMaxTextBytes / 2 - 1);
  CHECK(parsed(longest + ' ') == "over limit: literal at 0");
}

TEST_CASE("python_literal: every truncated prefix is refused", "[codec][python_literal][corrupt]") {
  const std::string good = R"({'names': [u'a\x41'], "formats": ('<f8', 12), 'aligned': True})";
  REQUIRE(PythonLiteral::parse(good));
  for (std::size_t n = 0; n < good.size(); ++n) {
    INFO("prefix of " << n << " bytes");
    CHECK_FALSE(PythonLiteral::parse(good.substr(0, n)));
  }
}

TEST_CASE("python_literal: a dict is asked by its keys", "[codec][python_literal][unit]") {
  const auto literal = PythonLiteral::parse("{'a': 1, 2: 3, 'b': [4], 'a': 5, '\u00e4': 6}");
  REQUIRE(literal);
  const auto found = [&](std::string_view key) {
    const auto value = literal->root().find(key);
    return value ? written(*value) : "nothing";
  };
  CHECK(found("a") == "5");  // the last of equal keys counts
  CHECK(found("b") == "[4,]");
  CHECK(found("c") == "nothing");
  CHECK(found("\xe4") == "nothing");
}

TEST_CASE("python_literal: tuples of numbers are written as Python does",
          "[codec][python_literal][unit]") {
  CHECK(python_tuple({}) == "()");
  CHECK(python_tuple(std::vector<std::uint64_t>{3}) == "(3,)");
  CHECK(python_tuple(std::vector<std::uint64_t>{3, 0, 18446744073709551615ULL}) ==
        "(3, 0, 18446744073709551615)");
}

}  // namespace
}  // namespace framefs::codec::python_literal_test

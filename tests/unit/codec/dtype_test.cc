#include "codec/array/dtype.h"

#include <string>
#include <vector>

#include "codec/array/dtype_code.h"
#include "tests/support/catch.h"

namespace framefs::codec::dtype_test {
namespace {

// The results of numpy.dtype(stored).str (NumPy 1.24).
struct Code {
  std::string stored;
  std::string text;
  std::uint64_t itemsize;
};

TEST_CASE("dtype: codes are written as NumPy writes them", "[codec][dtype][unit]") {
  for (const auto& c : std::vector<Code>{
           {"<f8", "<f8", 8},
           {">f8", ">f8", 8},
           {"=f8", "<f8", 8},
           {"|f8", "<f8", 8},
           {"f2", "<f2", 2},
           {"f16", "<f16", 16},
           {"|u1", "|u1", 1},
           {">u1", "|u1", 1},
           {"<i2", "<i2", 2},
           {"i8", "<i8", 8},
           {"|b1", "|b1", 1},
           {"?", "|b1", 1},
           {"c8", "<c8", 8},
           {">c16", ">c16", 16},
           {"c32", "<c32", 32},
           {"<U7", "<U7", 28},
           {">U1", ">U1", 4},
           {"|S3", "|S3", 3},
           {"a3", "|S3", 3},
           {">S3", "|S3", 3},
           {"S0", "|S0", 0},
           {"U", "<U0", 0},
           {"|V12", "|V12", 12},
           {"V1", "|V1", 1},
           {"S03", "|S3", 3},
           {"d", "<f8", 8},
           {">i", ">i4", 4},
           {"b", "|i1", 1},
           {"B", "|u1", 1},
           {"c", "|S1", 1},
           {"g", "<f16", 16},
           {"P", "<u8", 8},
           {"<M8", "<M8", 8},
           {"M", "<M8", 8},
           {"m8", "<m8", 8},
           {"<M8[ns]", "<M8[ns]", 8},
           {"M8[25s]", "<M8[25s]", 8},
           {">m8[D]", ">m8[D]", 8},
           {"M8[1D]", "<M8[D]", 8},
           {"M8[generic]", "<M8", 8},
           {"M8[2147483647as]", "<M8[2147483647as]", 8},
           {"S2147483647", "|S2147483647", 2147483647},
           {"U536870911", "<U536870911", 2147483644},
       }) {
    INFO(c.stored);
    const auto code = parse_dtype_code(c.stored).value_or(DtypeCode{.text = "none"});
    CHECK(code.text == c.text);
    CHECK(code.itemsize == c.itemsize);
  }
}

TEST_CASE("dtype: names of types are written as their codes", "[codec][dtype][unit]") {
  for (const auto& c : std::vector<Code>{
           {"bool", "|b1", 1},
           {"int8", "|i1", 1},
           {"uint8", "|u1", 1},
           {"int16", "<i2", 2},
           {"uint16", "<u2", 2},
           {"int32", "<i4", 4},
           {"uint32", "<u4", 4},
           {"int64", "<i8", 8},
           {"uint64", "<u8", 8},
           {"float16", "<f2", 2},
           {"float32", "<f4", 4},
           {"float64", "<f8", 8},
           {"float128", "<f16", 16},
           {"complex64", "<c8", 8},
           {"complex128", "<c16", 16},
           {"complex256", "<c32", 32},
           {"float", "<f8", 8},
           {"int", "<i8", 8},
           {"double", "<f8", 8},
           {"datetime64", "<M8", 8},
           {"datetime64[ns]", "<M8[ns]", 8},
           {"datetime64[25s]", "<M8[25s]", 8},
           {"timedelta64[us]", "<m8[us]", 8},
       }) {
    INFO(c.stored);
    const auto code = parse_dtype_code(c.stored).value_or(DtypeCode{.text = "none"});
    CHECK(code.text == c.text);
    CHECK(code.itemsize == c.itemsize);
  }
}

TEST_CASE("dtype: a text that is not a code is refused", "[codec][dtype][corrupt]") {
  for (const auto& text : std::vector<std::string>{
           "",
           "<",
           "<>f8",
           "O",
           "|O",
           "|O8",
           "object",
           "zzz",
           "u",
           "i3",
           "b2",
           "?1",
           "f12",
           "i4x",
           " f8",
           "f8 ",
           "f8,i4",
           "(2,)f4",
           "4f4",
           "S-1",
           "S+3",
           "S3[s]",
           "float64[s]",
           "float6",
           "float644",
           "M4[s]",
           "M8[",
           "M8[]",
           "M8[s",
           "M8[s]]",
           "M8[0D]",
           "M8[-3s]",
           "M8[B]",
           "M8[ s]",
           "M8[s/2]",
           "M8[ns]x",
           "M8s",
           "M88",
           "datetime6",
           "T",
           "str",
           "V2147483648",
           "U536870912",
           "S99999999999999999999",
           "M8[2147483648s]",
           "M8[99999999999999s]",
           std::string("f8\0", 3),
           std::string("\0", 1),
           "\xff",
       }) {
    INFO(text);
    CHECK_FALSE(parse_dtype_code(text));
  }
}

std::string descr(std::string_view stored, std::uint32_t typesize) {
  return npy_dtype(stored, typesize).descr;
}

TEST_CASE("dtype: simple types are quoted codes", "[codec][dtype][unit]") {
  CHECK(descr("<f8", 8) == "'<f8'");
  CHECK(descr("float64", 8) == "'<f8'");
  CHECK(descr("|V1000", 1000) == "'|V1000'");
}

// Oracle: the result of numpy.lib.format.dtype_to_descr() for the dtype (NumPy 1.24).
TEST_CASE("dtype: lists of fields are written as NumPy writes them", "[codec][dtype][unit]") {
  CHECK(descr("[('a', '<i4'), ('b', '<f8'), ('c', '|S3')]", 15) ==
        "[('a', '<i4'), ('b', '<f8'), ('c', '|S3')]");
  CHECK(descr("[(u'a','i4'),(\"b\",'float64',(3,)),('c','u1',[2])]", 30) == "'|V30'");
  CHECK(descr("[(u'a','i4'),(\"b\",'float64',(3,)),('c','u1',2)]", 30) ==
        "[('a', '<i4'), ('b', '<f8', (3,)), ('c', '|u1', (2,))]");
  CHECK(descr("[('a', [('x', '<i2'), ('y', '>i2')], (2, 3)), ('b', '?')]", 25) ==
        "[('a', [('x', '<i2'), ('y', '>i2')], (2, 3)), ('b', '|b1')]");
  CHECK(descr("[('a', '<i4', 1), ('b', '<i4', (1,)), ('c', '<i4', ())]", 12) ==
        "[('a', '<i4'), ('b', '<i4', (1,)), ('c', '<i4')]");
  CHECK(descr("[('a', '<i4', (0,)), ('b', 'S0'), ('c', '|u1')]", 1) ==
        "[('a', '<i4', (0,)), ('b', '|S0'), ('c', '|u1')]");
  CHECK(descr("[('a', ('<f4', (2,)), (3,))]", 24) == "[('a', '<f4', (3, 2))]");
  CHECK(descr("[(('a title', 'a'), '<f4'), ((None, 'b'), '<f4')]", 8) ==
        "[(('a title', 'a'), '<f4'), ('b', '<f4')]");
  CHECK(descr("[('a', '<M8[25s]'), ('', '|V4'), ('b', '<U2')]", 20) ==
        "[('a', '<M8[25s]'), ('', '|V4'), ('b', '<U2')]");
  CHECK(descr("[('a', [('', 'V4'), ('b', '<i2')])]", 6) == "[('a', [('', '|V4'), ('b', '<i2')])]");
}

TEST_CASE("dtype: names that are not ASCII are escaped", "[codec][dtype][unit]") {
  CHECK(descr("[('\u00df', '<i4'), ('\u20ac', '<i4')]", 8) ==
        R"([('\xdf', '<i4'), ('\u20ac', '<i4')])");
  CHECK(descr(R"([("it's", '<i4'), ('a\\b\n', '<i4')])", 8) ==
        R"([("it's", '<i4'), ('a\\b\n', '<i4')])");
}

TEST_CASE("dtype: dicts of fields become lists with the gaps filled", "[codec][dtype][unit]") {
  CHECK(descr("{'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets': [0, 8], 'itemsize': 16}",
              16) == "[('a', '<i4'), ('', '|V4'), ('b', '<f8')]");
  CHECK(descr("{'names':['a','b'],'formats':['<i4','<f8'],'offsets':[2,8],'itemsize':20,"
              "'titles':['t',None]}",
              20) == "[('', '|V2'), (('t', 'a'), '<i4'), ('', '|V2'), ('b', '<f8'), ('', '|V4')]");
  CHECK(descr("{'names': ('a',), 'formats': (('<f4', (2, 3)),), 'offsets': (4,), 'itemsize': 32}",
              32) == "[('', '|V4'), ('a', '<f4', (2, 3)), ('', '|V4')]");
  // NumPy cannot write these as a list, but finds the fields by name.
  CHECK(descr("{'names': ['b', 'a'], 'formats': ['<i4', '<f8'], 'offsets': [8, 0]}", 12) ==
        "[('a', '<f8'), ('b', '<i4')]");
  CHECK(descr("[('a', {'names': ['x'], 'formats': ['<i4'], 'offsets': [4], 'itemsize': 12}, (2,))]",
              24) == "[('a', [('', '|V4'), ('x', '<i4'), ('', '|V4')], (2,))]");
  CHECK(descr("{'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'more': {'x': None}}", 12) ==
        "[('a', '<i4'), ('b', '<f8')]");
  CHECK(descr("{'names': [], 'formats': [], 'offsets': [], 'itemsize': 20}", 20) == "'|V20'");
}

TEST_CASE("dtype: an aligned struct is aligned in all its parts", "[codec][dtype][unit]") {
  CHECK(descr("{'names': ['a', 'b'], 'formats': ['u1', '<f8'], 'aligned': True}", 16) ==
        "[('a', '|u1'), ('', '|V7'), ('b', '<f8')]");
  // The inner list represents an aligned struct.
  CHECK(
      descr("{'names': ['a', 'b'], 'formats': ['u1', [('x', '<c16'), ('y', 'S3'), ('z', '<U1')]], "
            "'offsets': [0, 8], 'itemsize': 32, 'aligned': True}",
            32) ==
      "[('a', '|u1'), ('', '|V7'), ('b', [('x', '<c16'), ('y', '|S3'), ('', '|V1'), "
      "('z', '<U1')])]");
  CHECK(descr("{'names': ['a'], 'formats': [[('x', '<i4'), ('y', 'u1')]], 'aligned': True}", 8) ==
        "[('a', [('x', '<i4'), ('y', '|u1'), ('', '|V3')])]");
  CHECK(descr("{'names': ['a'], 'formats': [[('x', '<i4'), ('y', 'u1')]], 'aligned': False}", 5) ==
        "[('a', [('x', '<i4'), ('y', '|u1')])]");
  // Not where an aligned struct cannot have such a field.
  CHECK(
      descr("{'names': ['a'], 'formats': ['<i4'], 'offsets': [2], 'itemsize': 8, 'aligned': True}",
            8) == "'|V8'");
  CHECK(
      descr("{'names': ['a'], 'formats': ['<i4'], 'offsets': [0], 'itemsize': 6, 'aligned': True}",
            6) == "'|V6'");
}

TEST_CASE("dtype: a type with a shape adds dimensions", "[codec][dtype][unit]") {
  const auto check = [](std::string_view stored, std::uint32_t typesize, const std::string& expect,
                        const std::vector<std::uint64_t>& shape) {
    INFO(stored);
    const auto dtype = npy_dtype(stored, typesize);
    CHECK(dtype.descr == expect);
    CHECK(dtype.shape == shape);
  };
  check("('<f4', (2, 3))", 24, "'<f4'", {2, 3});
  check("('<i2', 5)", 10, "'<i2'", {5});
  check("(('<f4', (2,)), (3,))", 24, "'<f4'", {3, 2});
  check("([('a', '<i4')], (2,))", 8, "[('a', '<i4')]", {2});
  check("('<f4', 1)", 4, "'<f4'", {});
  check("('<f4', (2, 3))", 25, "'|V25'", {});
}

TEST_CASE("dtype: a type that a .npy file cannot express becomes opaque bytes",
          "[codec][dtype][corrupt]") {
  for (const auto& stored : std::vector<std::string>{
           "",
           "zzz",
           "<f4",    // of another size
           "'<f8'",  // one pair of quotes too many
           "O",
           "[('a', 'O')]",
           "[('a', '<f8'), ('b', '|O')]",
           "[('a', '<f4'), ('a', '<f4')]",  // twice the same name
           "[(('a', 'a'), '<f8')]",         // the title equals the name
           "[(('b', 'a'), '<f4'), ('b', '<f4')]",
           "[(('b', ''), '<f8')]",
           "[('', '<f8')]",  // NumPy invents a name
           "[('', [('a', '<f8')])]",
           "[('a',)]",
           "[('a', '<f8', (1,), 3)]",
           "[['a', '<f8']]",
           "['<f8']",
           "[(1, '<f8')]",
           "[('a', 8)]",
           "[('a', '<f8', -1)]",
           "[('a', '<f8', True)]",
           "[('a', '<f8', ('1',))]",
           "[('a', '<f8')",
           "('<f8',)",
           "('<f8', (1,), 3)",
           "('<f8', '<f8')",
           "('<f8', [('a', '<f8')])",
           "(numpy.record, [('a', '<f8')])",
           "{'a': ('<f8', 0)}",
           "{'names': ['a']}",
           "{'names': 'a', 'formats': ['<f8']}",
           "{'names': ['a'], 'formats': ['<f8', '<f8']}",
           "{'names': ['a'], 'formats': ['<f8'], 'offsets': []}",
           "{'names': ['a'], 'formats': ['<f8'], 'offsets': ['0']}",
           "{'names': ['a'], 'formats': ['<f8'], 'titles': 'b'}",
           "{'names': ['a'], 'formats': ['<f8'], 'itemsize': '8'}",
           "{'names': [''], 'formats': ['<f8']}",
           "{'names': ['a', 'b'], 'formats': ['<f4', '<f4'], 'offsets': [0, 3], 'itemsize': 8}",
           "{'names': ['a', 'b'], 'formats': ['<f4', '<f4'], 'offsets': [0, 4], 'itemsize': 7}",
           "{'names': ['a'], 'formats': ['<f8'], 'offsets': [18446744073709551615], 'itemsize': 8}",
           "{'names': ['a'], 'formats': ['<f8'], 'offsets': [0], 'itemsize': 18446744073709551615}",
           "[('a', '<f8', (4294967296, 4294967296, 0))]",
           "[('a', '|V2147483647'), ('b', '|V2147483647'), ('c', '|V10')]",
           "None",
           "8",
           "\xff",
           std::string(40, '[') + std::string(40, ']'),
       }) {
    INFO(stored);
    const auto dtype = npy_dtype(stored, 8);
    CHECK(dtype.descr == "'|V8'");
    CHECK(dtype.shape.empty());
  }
}

TEST_CASE("dtype: no more dimensions than NumPy has", "[codec][dtype][unit]") {
  const auto ones = [](std::size_t n) {
    std::string out = "(";
    for (std::size_t i = 0; i < n; ++i) out += "1,";
    return out + ")";
  };
  // A field may have as many dimensions as an array.  Those of a whole item follow the array's.
  CHECK(descr("[('a', '<f8', " + ones(32) + ")]", 8).starts_with("[("));
  CHECK(descr("[('a', '<f8', " + ones(33) + ")]", 8) == "'|V8'");
  CHECK(npy_dtype("('<f8', " + ones(16) + ")", 8).shape.size() == 16);
  CHECK(npy_dtype("('<f8', " + ones(17) + ")", 8).descr == "'|V8'");
}

TEST_CASE("dtype: any flipped bit gives a description of the same size",
          "[codec][dtype][corrupt]") {
  const std::string good =
      "{'names': ['a', 'b'], 'formats': ['<i4', [('x', '<f8', (2,))]], 'offsets': [0, 8], "
      "'itemsize': 24, 'aligned': True}";
  REQUIRE(descr(good, 24) == "[('a', '<i4'), ('', '|V4'), ('b', [('x', '<f8', (2,))])]");
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    INFO("bit " << bit);
    auto damaged = good;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    // The result can be parsed again, with the same meaning.
    const auto dtype = npy_dtype(damaged, 24);
    const auto again = dtype.descr.starts_with('\'')
                           ? npy_dtype(dtype.descr.substr(1, dtype.descr.size() - 2), 24)
                           : npy_dtype(dtype.descr, 24);
    REQUIRE(again.descr == dtype.descr);
  }
}

}  // namespace
}  // namespace framefs::codec::dtype_test

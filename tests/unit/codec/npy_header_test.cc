#include "codec/array/npy_header.h"

#include <string>
#include <vector>

#include "codec/array/dtype.h"
#include "codec/core/byte_reader.h"
#include "tests/support/array_model.h"
#include "tests/support/catch.h"

namespace framefs::codec::npy_header_test {
namespace {

using namespace std::string_literals;

ArrayMeta meta(const std::vector<std::uint64_t>& shape, const std::string& dtype) {
  ArrayMeta out;
  out.ndim = static_cast<std::uint8_t>(shape.size());
  std::ranges::copy(shape, out.shape.begin());
  out.dtype = dtype;
  return out;
}

// `text` in a header of format 1.0, padded with blanks to `size` bytes.
std::string header_1_0(const std::string& text, std::size_t size) {
  std::string out = "\x93NUMPY\x01\0"s;
  out += static_cast<char>((size - 10) & 0xFF);
  out += static_cast<char>((size - 10) >> 8);
  out += text;
  out.resize(size - 1, ' ');
  return out + '\n';
}

// Oracle: the bytes that numpy.save() of NumPy 1.24 writes before the data.
TEST_CASE("npy_header: headers equal those of NumPy", "[codec][npy_header][unit]") {
  CHECK(npy_header(meta({}, "<f8"), 8) ==
        header_1_0("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 128));
  CHECK(npy_header(meta({25, 19}, "<i4"), 4) ==
        header_1_0("{'descr': '<i4', 'fortran_order': False, 'shape': (25, 19), }", 128));
  CHECK(npy_header(meta({0}, "|b1"), 1) ==
        header_1_0("{'descr': '|b1', 'fortran_order': False, 'shape': (0,), }", 128));
  CHECK(npy_header(meta({3}, "[('a', '<i4'), ('b', '<f8'), ('c', '|S3')]"), 15) ==
        header_1_0("{'descr': [('a', '<i4'), ('b', '<f8'), ('c', '|S3')], "
                   "'fortran_order': False, 'shape': (3,), }",
                   128));
  CHECK(npy_header(meta({0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, "float64"), 8) ==
        header_1_0("{'descr': '<f8', 'fortran_order': False, "
                   "'shape': (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), }",
                   192));
}

TEST_CASE("npy_header: the room that NumPy leaves makes a header longer at the same text",
          "[codec][npy_header][unit]") {
  const auto bytes_with = [](std::size_t name) {
    return npy_header(meta({3}, "[('" + std::string(name, 'x') + "', '<f8')]"), 8).size();
  };
  CHECK(bytes_with(31) == 128);
  CHECK(bytes_with(32) == 192);
  CHECK(bytes_with(31 + 64) == 192);
  CHECK(bytes_with(32 + 64) == 256);
}

TEST_CASE("npy_header: dimensions of an item follow those of the array",
          "[codec][npy_header][unit]") {
  CHECK(npy_header(meta({5}, "('<f4', (2, 3))"), 24) ==
        header_1_0("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 2, 3), }", 128));
  CHECK(npy_header(meta({}, "('<f4', 2)"), 8) ==
        header_1_0("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 128));
}

TEST_CASE("npy_header: items that NumPy has no words for are opaque", "[codec][npy_header][unit]") {
  const auto opaque = header_1_0("{'descr': '|V7', 'fortran_order': False, 'shape': (2,), }", 128);
  CHECK(npy_header(meta({2}, ""), 7) == opaque);
  CHECK(npy_header(meta({2}, "<f8"), 7) == opaque);
  auto other = meta({2}, "|S7");
  CHECK(is_numpy_dtype(other));
  CHECK(npy_header(other, 7) != opaque);
  other.dtype_format = 1;
  CHECK_FALSE(is_numpy_dtype(other));
  CHECK(npy_header(other, 7) == opaque);
}

TEST_CASE("npy_header: a text too long for format 1.0 makes it 2.0", "[codec][npy_header][unit]") {
  const auto fields = [](std::size_t count) {
    std::string out = "[";
    for (std::size_t i = 0; i < count; ++i) out += "('f" + std::to_string(10000 + i) + "', 'u1'),";
    return out + "]";
  };
  // Each field adds 19 bytes of text, so that all lengths near the limit occur.
  bool was_long = false;
  std::size_t first_long = 0;
  for (std::size_t count = 3430; count < 3460; ++count) {
    INFO(count << " fields");
    const auto header = npy_header(meta({1}, fields(count)), static_cast<std::uint32_t>(count));
    REQUIRE(header.size() % 64 == 0);
    REQUIRE(header.ends_with('\n'));
    REQUIRE(header.starts_with("\x93NUMPY"));
    const auto bytes = std::as_bytes(std::span(header));
    const bool is_long = header[6] == 2;
    REQUIRE((is_long || header[6] == 1));
    REQUIRE(header[7] == 0);
    if (is_long) {
      REQUIRE(load_le<std::uint32_t>(bytes.data() + 8) == header.size() - 12);
      if (!was_long) first_long = header.size();
    } else {
      REQUIRE(load_le<std::uint16_t>(bytes.data() + 8) == header.size() - 10);
      REQUIRE_FALSE(was_long);
    }
    was_long = is_long;
  }
  REQUIRE(was_long);
  // As numpy.save() writes it: 65536 bytes in format 1.0 for 3444 fields, then 65600 in format 2.0.
  CHECK(first_long == 65600);
}

}  // namespace
}  // namespace framefs::codec::npy_header_test

#include "fs/view/window_view.h"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "fs/core/files/shared_window.h"
#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/unit/fs/view_mount.h"

namespace framefs::fs::window_view_test {
namespace {

using test::Bytes;
using test::read;
using Source = Result<std::shared_ptr<const codec::ByteSource>>;

Source source_of(Bytes bytes) {
  return std::make_shared<const test::SharedSource>(std::move(bytes));
}

constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();

TEST_CASE("window_view: stored bytes are shown as they are", "[fs][window_view][unit]") {
  test::ViewMount mount;
  const auto bytes = test::noise(1000, 1);
  const WindowView view(source_of(bytes), mount.buffers());
  CHECK(view.is_readable());
  struct Row {
    std::uint64_t offset;
    std::uint64_t size;
    std::size_t expected;
  };
  for (const auto& row : {Row{0, 0, 0}, Row{0, 1000, 1000}, Row{0, kMax, 1000}, Row{10, 20, 20},
                          Row{999, 5, 1}, Row{1000, 1, 0}, Row{kMax, kMax, 0}}) {
    CAPTURE(row.offset, row.size);
    const auto got = read(view, row.offset, row.size);
    REQUIRE(got);
    REQUIRE(got->size() == row.expected);
    for (std::size_t i = 0; i < got->size(); ++i) REQUIRE((*got)[i] == bytes[row.offset + i]);
  }
}

TEST_CASE("window_view: it has data to its end", "[fs][window_view][unit]") {
  test::ViewMount mount;
  const WindowView view(source_of(Bytes(1000)), mount.buffers());
  CHECK(view.seek(Seek::data, 0).value() == 0);
  CHECK(view.seek(Seek::data, 999).value() == 999);
  CHECK(view.seek(Seek::hole, 0).value() == 1000);
  CHECK(view.seek(Seek::hole, 999).value() == 1000);
  for (const auto what : {Seek::data, Seek::hole}) {
    CHECK(view.seek(what, 1000).error().sys == ENXIO);
    CHECK(view.seek(what, kMax).error().sys == ENXIO);
  }
  const WindowView empty(source_of({}), mount.buffers());
  CHECK(read(empty, 0, 10).value().empty());
  CHECK(empty.seek(Seek::hole, 0).error().sys == ENXIO);
}

TEST_CASE("window_view: if the bytes cannot be opened, reads fail with the reason",
          "[fs][window_view][corrupt]") {
  test::ViewMount mount;
  const WindowView view(Source(codec::fail(Errc::bad_field, "member")), mount.buffers());
  CHECK_FALSE(view.is_readable());
  CHECK(read(view, 0, 10).error().kind == Errc::bad_field);
  CHECK(view.seek(Seek::data, 0).error().kind == Errc::bad_field);
}

// The file was truncated after its size was read.
TEST_CASE("window_view: a window beyond its file's end fails to read",
          "[fs][window_view][corrupt]") {
  test::ViewMount mount;
  const std::shared_ptr<const codec::ByteSource> file = source_of(test::noise(100, 1)).value();
  const WindowView view(Source(std::make_shared<const SharedWindow>(file, ByteRange{50, 100})),
                        mount.buffers());
  CHECK(read(view, 0, 50).value().size() == 50);
  CHECK(read(view, 0, 51).error().kind == Errc::truncated);
  CHECK(read(view, 60, 1).error().kind == Errc::truncated);
}

}  // namespace
}  // namespace framefs::fs::window_view_test

#include "fs/core/diagnostics/error_map.h"

#include <cerrno>
#include <utility>

#include "fs/core/files/file.h"
#include "tests/support/catch.h"

namespace framefs::fs::error_map_test {
namespace {

using codec::Errc;
using codec::Error;

// Oracle: the table "Errors" in fs/SEMANTICS.md.
TEST_CASE("error_map: every kind has the errno of the table", "[fs][error_map][unit]") {
  struct Row {
    Errc kind;
    int sys;
    int expected;
  };
  for (const auto& row : {Row{Errc::truncated, 0, EIO}, Row{Errc::bad_field, 0, EIO},
                          Row{Errc::checksum, 0, EIO}, Row{Errc::unsupported, 0, EOPNOTSUPP},
                          Row{Errc::over_limit, 0, EFBIG}, Row{Errc::no_space, 0, ENOSPC},
                          Row{Errc::system, EACCES, EACCES}, Row{Errc::system, ENOENT, ENOENT},
                          // A system error must never look like success.
                          Row{Errc::system, 0, EIO}, Row{Errc::internal, 0, EIO},
                          // An errno beside another kind is ignored.
                          Row{Errc::bad_field, ENOENT, EIO}}) {
    INFO(codec::errc_name(row.kind) << ", errno " << row.sys);
    CHECK(errno_of({.kind = row.kind, .field = "x", .at = 0, .sys = row.sys}) == row.expected);
  }
}

TEST_CASE("error_map: a description has kind, field, value and place", "[fs][error_map][unit]") {
  CHECK(describe({.kind = Errc::bad_field, .field = "cbytes", .at = 1234, .sys = 0, .value = -1}) ==
        "bad field: cbytes (-1) at byte 1234");
  CHECK(describe({.kind = Errc::truncated, .field = "file", .at = 7}) ==
        "truncated: file at byte 7");
  CHECK(describe({.kind = Errc::unsupported, .field = "codec", .at = 2, .sys = 0, .value = 0}) ==
        "unsupported: codec (0) at byte 2");
  CHECK(describe(refusal(ELOOP, "MOUNTPOINT lies inside SOURCE").error()) ==
        "MOUNTPOINT lies inside SOURCE");
  CHECK(describe({.kind = Errc::system, .field = "open", .at = 0, .sys = ENOENT}) ==
        "open: No such file or directory");
}

}  // namespace
}  // namespace framefs::fs::error_map_test

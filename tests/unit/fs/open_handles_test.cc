#include "fs/tree/records/open_handles.h"

#include "tests/support/catch.h"

namespace framefs::fs::open_handles_test {
namespace {

TEST_CASE("open_handles: the last one is told from the others", "[fs][open_handles][unit]") {
  OpenHandles handles;
  REQUIRE(handles.add(false));
  REQUIRE(handles.add(true));
  CHECK(handles.count() == 2);
  CHECK(handles.are_mappable());
  CHECK_FALSE(handles.remove(true, true));
  CHECK_FALSE(handles.are_mappable());
  CHECK(handles.remove(false, false));
  CHECK(handles.take_written());
  CHECK_FALSE(handles.take_written());
}

TEST_CASE("open_handles: a handle that a caller wants to end counts as one that wrote",
          "[fs][open_handles][unit]") {
  OpenHandles handles;
  CHECK(handles.want_none());
  CHECK_FALSE(handles.take_written());
  REQUIRE(handles.add(false));
  CHECK_FALSE(handles.want_none());
  CHECK(handles.remove(false, false));
  CHECK(handles.take_written());
}

TEST_CASE("open_handles: none is added while the file is retired", "[fs][open_handles][unit]") {
  OpenHandles handles;
  handles.retire();
  CHECK_FALSE(handles.add(true));
  CHECK(handles.count() == 0);
  CHECK_FALSE(handles.are_mappable());
  handles.restore();
  CHECK(handles.add(true));
}

TEST_CASE("open_handles: all share the file of the first, until they have ended",
          "[fs][open_handles][unit]") {
  OpenHandles handles;
  auto first = std::make_shared<const FileReader>(UniqueFd());
  auto second = std::make_shared<const FileReader>(UniqueFd());
  CHECK(handles.file() == nullptr);
  CHECK(handles.share(nullptr) == nullptr);  // of a sparse frame
  CHECK(handles.share(first) == first);
  CHECK(handles.share(second) == first);
  CHECK(handles.file() == first);
  first.reset();
  CHECK(handles.file() == nullptr);
  CHECK(handles.share(second) == second);
}

}  // namespace
}  // namespace framefs::fs::open_handles_test

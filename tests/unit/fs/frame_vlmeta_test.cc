#include "fs/write/frame_vlmeta.h"

#include <cerrno>
#include <string>
#include <vector>

#include "codec/frame/chunk_checksums.h"
#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::frame_vlmeta_test {
namespace {

using Existing = FrameVlmeta::Existing;
using test::noise;

int errno_of_status(const Status& status) { return status ? 0 : status.error().sys; }

TEST_CASE("frame_vlmeta: a change is seen at once, and stored by the next commit",
          "[fs][frame_vlmeta][unit]") {
  const bool sparse = GENERATE(false, true);
  CAPTURE(sparse);
  const test::WrittenFile file(1000, sparse);
  auto& layers = file.session->vlmeta();
  test::write_at(*file.session, 0, noise(100, 1));
  REQUIRE(layers.set("a", noise(10, 2), Existing::must_not));
  REQUIRE(layers.set("b", noise(20, 3), Existing::any));
  CHECK(layers.names() == std::vector<std::string>{"a", "b"});
  CHECK(layers.content("a").value() == noise(10, 2));
  CHECK(layers.content("c").value() == std::nullopt);
  REQUIRE(file.session->commit(false));
  CHECK(test::StoredFrame(file.path).frame->vlmetalayers().size() == 2);
  REQUIRE(layers.set("a", std::nullopt, Existing::must));
  CHECK(file.session->is_changed());
  REQUIRE(file.session->commit(false));
  CHECK(test::StoredFrame(file.path).frame->vlmetalayers().size() == 1);
}

TEST_CASE("frame_vlmeta: names that cannot be set are refused", "[fs][frame_vlmeta][unit]") {
  const test::WrittenFile file(1000, false);
  auto& layers = file.session->vlmeta();
  CHECK(errno_of_status(layers.set("", noise(1, 1), Existing::any)) == ENAMETOOLONG);
  CHECK(errno_of_status(layers.set(codec::kChecksumLayer, noise(1, 1), Existing::any)) == EPERM);
  CHECK(errno_of_status(layers.set("a", std::nullopt, Existing::must)) == ENODATA);
  CHECK_FALSE(file.session->is_changed());
}

TEST_CASE("frame_vlmeta: a frame without chunks gets no large ones, and loses none",
          "[fs][frame_vlmeta][unit]") {
  const test::WrittenFile file(1000, false);
  auto& layers = file.session->vlmeta();
  CHECK(errno_of_status(layers.set("a", noise(3000, 1), Existing::any)) == ENOSPC);
  CHECK_FALSE(layers.need_chunks().value());
  test::write_at(*file.session, 0, noise(100, 1));
  REQUIRE(layers.set("a", noise(3000, 1), Existing::any));
  CHECK(layers.need_chunks().value());
  REQUIRE(file.session->truncate(0));
  REQUIRE(file.session->commit(false));
  CHECK(test::StoredFrame(file.path).frame->vlmetalayers().size() == 1);
}

}  // namespace
}  // namespace framefs::fs::frame_vlmeta_test

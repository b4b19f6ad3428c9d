#include "fs/remote/remote_probes.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"

namespace framefs::fs::remote_probes_test {
namespace {

using net::RemoteEntry;
using Time = std::chrono::steady_clock::time_point;

RemoteEntry file(const std::string& etag, std::uint64_t size = 1000) {
  return {.name = "x.b2frame", .size = size, .mtime_ns = 5, .etag = etag};
}

net::ObjectVersion version(const std::string& etag) {
  return {.path = {}, .size = 1000, .etag = etag, .last_modified = {}, .key = {}};
}

// The entry of a frame of 4,000 zeros, with the first `head_bytes` of its object.
RemoteEntry frame(std::size_t head_bytes) {
  test::FrameSpec spec;
  spec.chunks = {test::index_only_chunk(test::SpecialKind::zero, 4000)};
  spec.chunksize = 4000;
  const auto bytes = test::build_frame(spec).bytes;
  auto entry = file("\"1\"", bytes.size());
  entry.head = std::make_shared<const std::vector<std::byte>>(
      bytes.begin(),
      bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), head_bytes)));
  return entry;
}

RemoteProbe probe_of(const std::string& version) {
  RemoteProbe probe;
  probe.version = version;
  return probe;
}

net::ContentKey state(const RemoteEntry& entry, Time taken = {}) {
  return RemoteProbes::state_of(taken, entry, Expected::frame);
}

TEST_CASE("remote_probes: a probe counts while the listing shows the same state",
          "[fs][remote_probes][unit]") {
  RemoteProbes probes{codec::Limits{}};
  CHECK_FALSE(probes.remember("a/x", state(file("1")), probe_of("1")));
  REQUIRE(probes.find("a/x", state(file("1"))));
  CHECK(probes.find("a/x", state(file("1")))->version == "1");
  CHECK_FALSE(probes.find("a/y", state(file("1"))));
  CHECK_FALSE(probes.find("a/x", state(file("2"))));
  CHECK_FALSE(probes.find("a/x", state(file("1", 1001))));
  const auto as_array = RemoteProbes::state_of({}, file("1"), Expected::array);
  CHECK_FALSE(probes.find("a/x", as_array));
}

TEST_CASE("remote_probes: equal ETags are the same bytes, and without a version a listing is",
          "[fs][remote_probes][unit]") {
  const Time later{std::chrono::seconds(1)};
  auto copied = file("1");
  copied.mtime_ns = 6;
  CHECK(state(copied) == state(file("1"), later));
  auto touched = file("");
  touched.mtime_ns = 6;
  CHECK(state(touched) != state(file("")));
  CHECK(state(touched) == state(touched, later));
  auto directory = file("");
  directory.is_directory = true;
  auto link = file("1");
  link.is_exact = false;
  auto untold = file("");
  untold.mtime_ns = 0;
  for (const auto& entry : {directory, link, untold}) {
    CHECK(state(entry) == state(entry));
    CHECK(state(entry) != state(entry, later));
  }
}

TEST_CASE("remote_probes: an open that finds another version makes the probe void",
          "[fs][remote_probes][unit]") {
  RemoteProbes probes{codec::Limits{}};
  const auto known = state(file("1"));
  CHECK_FALSE(probes.forget_other("x", version("\"1\"")));
  probes.remember("x", known, probe_of("\"1\""));
  CHECK_FALSE(probes.forget_other("x", version("\"1\"")));
  CHECK(probes.find("x", known));
  CHECK(probes.forget_other("x", version("\"2\"")));
  CHECK_FALSE(probes.find("x", known));
  // A probe of which the version is not known cannot be compared.
  probes.remember("x", known, {});
  CHECK_FALSE(probes.forget_other("x", version("\"2\"")));
}

TEST_CASE("remote_probes: the head in a listing is a probe if it suffices",
          "[fs][remote_probes][unit]") {
  RemoteProbes probes{codec::Limits{}};
  const auto whole = frame(4096);
  probes.learn("x.b2frame", whole);
  const auto learned = probes.find("x.b2frame", state(whole));
  REQUIRE(learned);
  CHECK(learned->summary.content == Content::frame);
  CHECK(learned->summary.nbytes == 4000);
  CHECK_FALSE(probes.forget_other("x.b2frame", version("\"1\"")));

  const auto part = frame(30);
  probes.learn("y.b2frame", part);
  CHECK_FALSE(probes.find("y.b2frame", state(part)));
  probes.learn("x.txt", whole);  // no name of a frame
  CHECK_FALSE(probes.find("x.txt", state(whole)));
  auto untold = whole;
  untold.etag.clear();
  untold.mtime_ns = 0;
  probes.learn("z.b2frame", untold);
  CHECK_FALSE(probes.find("z.b2frame", state(untold)));
}

TEST_CASE("remote_probes: too many probes are forgotten together", "[fs][remote_probes][unit]") {
  RemoteProbes probes{codec::Limits{}};
  const auto known = state(file("1"));
  for (std::size_t i = 0; i < RemoteProbes::kMaxProbes; ++i) {
    REQUIRE_FALSE(probes.remember(std::to_string(i), known, {}));
  }
  CHECK(probes.find("0", known));
  CHECK(probes.remember("one more", known, {}));
  CHECK_FALSE(probes.find("0", known));
  CHECK(probes.find("one more", known));
}

}  // namespace
}  // namespace framefs::fs::remote_probes_test

#include "fs/source/container.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame/frame_reader.h"
#include "tests/support/catch.h"
#include "tests/support/msgpack_builder.h"
#include "tests/support/zip_builder.h"
#include "tests/unit/fs/shared_source.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs::container_test {
namespace {

using codec::Errc;
using test::Bytes;
using test::pack_map;
using test::pack_str;
using test::pack_uint;

constexpr codec::Limits kLimits{};

struct Node {
  std::string key;
  Bytes frame;
};

// A .b2e: a frame whose decoded bytes are the frames of the nodes, one after the other.
Bytes embed_container(const std::vector<Node>& nodes) {
  Bytes heap;
  Bytes map;
  pack_map(map, 2);
  pack_str(map, "embed_map");
  pack_map(map, static_cast<std::uint16_t>(nodes.size()));
  for (const auto& node : nodes) {
    pack_str(map, node.key);
    pack_map(map, 2);
    pack_str(map, "offset");
    pack_uint(map, heap.size());
    pack_str(map, "length");
    pack_uint(map, node.frame.size());
    test::append(heap, node.frame);
  }
  pack_str(map, "current_offset");
  pack_uint(map, heap.size());
  test::ChunkSpec chunk;
  chunk.typesize = 1;
  test::FrameSpec spec;
  spec.typesize = 1;
  spec.chunksize = 1000;
  for (std::size_t at = 0; at < heap.size(); at += spec.chunksize) {
    const auto size = std::min<std::size_t>(spec.chunksize, heap.size() - at);
    spec.chunks.push_back(test::stored_chunk(std::span(heap).subspan(at, size), chunk));
  }
  spec.metalayers = {{.name = "b2embed", .content = test::counting(3)}};
  spec.vlmetalayers = {{.name = "estore_metadata", .content = map}};
  return test::build_frame(spec).bytes;
}

Bytes array_frame_bytes() { return test::build_frame(test::small_array_frame(300)).bytes; }

// A container in memory.
struct Opened {
  explicit Opened(Bytes bytes)
      : file(std::make_shared<const test::SharedSource>(std::move(bytes))) {
    auto opened = Container::open(file, "the container", kLimits, log.log());
    if (!opened) {
      error = opened.error();
    } else {
      container = *opened;
    }
  }

  // The names in a directory, those of directories with a slash.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const {
    const auto children = container->children(path);
    REQUIRE(children);
    std::vector<std::string> all;
    for (const auto& child : *children) all.push_back(child.name + (child.is_directory ? "/" : ""));
    std::ranges::sort(all);
    return all;
  }
  [[nodiscard]] Bytes stored(const std::string& path) const {
    const auto member = container->open_member(file, path);
    CAPTURE(path);
    REQUIRE(member);
    Bytes bytes((*member)->size().value());
    REQUIRE((*member)->read_at(0, bytes));
    return bytes;
  }
  [[nodiscard]] Error error_of(const std::string& path) const {
    const auto member = container->open_member(file, path);
    CAPTURE(path);
    REQUIRE_FALSE(member);
    return member.error();
  }

  test::TestLog log;
  Container::Source file;
  std::shared_ptr<const Container> container;
  Error error;
};

using Names = std::vector<std::string>;

TEST_CASE("container: the members of an archive are files in directories",
          "[fs][container][unit]") {
  const auto frame = test::small_frame(1500);
  const Opened archive(
      test::build_zip({.files = {{.name = "a.b2frame", .content = frame},
                                 {.name = "dir/b.b2nd", .content = array_frame_bytes()},
                                 {.name = "dir/deep/text", .content = test::noise(10, 1)}}})
          .bytes);
  REQUIRE(archive.container);
  CHECK(archive.names("") == Names{"a.b2frame", "dir/"});
  CHECK(archive.names("dir") == Names{"b.b2nd", "deep/"});
  CHECK(archive.names("dir/deep") == Names{"text"});
  CHECK(archive.container->is_directory(""));
  CHECK(archive.container->is_directory("dir/deep"));
  CHECK_FALSE(archive.container->is_directory("a.b2frame"));
  CHECK_FALSE(archive.container->is_directory("none"));
  CHECK(archive.stored("a.b2frame") == frame);
  CHECK(archive.stored("dir/deep/text") == test::noise(10, 1));
  CHECK(archive.error_of("none").sys == ENOENT);
  CHECK(archive.error_of("dir").sys == ENOENT);
  // A summary exists only for frames in a .b2e; a member of an archive is probed in its own bytes.
  CHECK_FALSE(archive.container->summary_of("a.b2frame"));
}

TEST_CASE("container: a member that is compressed or damaged fails alone",
          "[fs][container][corrupt]") {
  auto zip =
      test::build_zip({.files = {{.name = "packed", .content = test::noise(50, 1), .method = 8},
                                 {.name = "moved", .content = test::noise(50, 2)},
                                 {.name = "good", .content = test::noise(50, 3)}}});
  zip.bytes[zip.local_at[1]] = std::byte{0};  // the signature of the local header
  const Opened archive(zip.bytes);
  REQUIRE(archive.container);
  CHECK(archive.names("") == Names{"good", "moved", "packed"});
  CHECK(archive.error_of("packed").kind == Errc::unsupported);
  CHECK(archive.error_of("moved").kind == Errc::bad_field);
  CHECK(archive.stored("good") == test::noise(50, 3));
}

TEST_CASE("container: the nodes of an embedded container have the suffixes of their kinds",
          "[fs][container][unit]") {
  const auto frame = test::small_frame(1500);
  const Opened opened(embed_container(
      {{"/frame", frame}, {"/dir/array", array_frame_bytes()}, {"/text", test::noise(100, 1)}}));
  REQUIRE(opened.container);
  CHECK(opened.names("") == Names{"dir/", "frame.b2frame", "text"});
  CHECK(opened.names("dir") == Names{"array.b2nd"});
  CHECK(opened.stored("frame.b2frame") == frame);
  CHECK(opened.stored("dir/array.b2nd") == array_frame_bytes());
  CHECK(opened.stored("text") == test::noise(100, 1));
  REQUIRE(opened.container->summary_of("frame.b2frame"));
  CHECK(opened.container->summary_of("frame.b2frame")->content == Content::frame);
  CHECK(opened.container->summary_of("dir/array.b2nd")->content == Content::array);
  CHECK_FALSE(opened.container->summary_of("text"));
  CHECK_FALSE(opened.container->summary_of("dir"));
}

TEST_CASE("container: a container inside an archive is a directory of its nodes",
          "[fs][container][unit]") {
  const auto frame = test::small_frame(1500);
  const Opened archive(
      test::build_zip({.files = {{.name = "x.b2e", .content = embed_container({{"/n", frame}})},
                                 {.name = "y", .content = test::noise(10, 1)}}})
          .bytes);
  REQUIRE(archive.container);
  CHECK(archive.names("") == Names{"x.b2e/", "y"});
  CHECK(archive.names("x.b2e") == Names{"n.b2frame"});
  CHECK(archive.stored("x.b2e/n.b2frame") == frame);
}

TEST_CASE("container: a damaged container inside an archive damages its own directory",
          "[fs][container][corrupt]") {
  auto inner = test::small_frame_spec(500);
  inner.metalayers = {{.name = "b2embed", .content = test::counting(3)}};
  // The map is missing.
  const Opened archive(
      test::build_zip({.files = {{.name = "x.b2e", .content = test::build_frame(inner).bytes},
                                 {.name = "y", .content = test::noise(10, 1)}}})
          .bytes);
  REQUIRE(archive.container);
  CHECK(archive.stored("y") == test::noise(10, 1));
  const auto children = archive.container->children("x.b2e");
  REQUIRE_FALSE(children);
  CHECK(children.error().kind == Errc::bad_field);
  REQUIRE(archive.log.lines().size() == 1);
  CHECK(archive.log.lines()[0].find("the container/x.b2e") != std::string::npos);
}

TEST_CASE("container: a file that is none is refused with the reason in the log",
          "[fs][container][corrupt]") {
  for (const auto& bytes : {Bytes{}, test::noise(1000, 1), test::small_frame(1000)}) {
    const Opened none(bytes);
    CHECK_FALSE(none.container);
    CHECK(none.log.lines().size() == 1);
  }
}

}  // namespace
}  // namespace framefs::fs::container_test

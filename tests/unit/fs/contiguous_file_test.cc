#include "fs/write/commit/contiguous_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "codec/core/byte_source.h"
#include "codec/frame/frame.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"

namespace framefs::fs::contiguous_file_test {
namespace {

using test::Bytes;

// A file that has `content`, or that is empty and stands for the frame `content`.
class OnDisk {
 public:
  explicit OnDisk(const Bytes& content, bool is_empty = false) : content_(content) {
    folder_.write("x", is_empty ? Bytes() : content);
    file.emplace(
        std::make_shared<const FileReader>(UniqueFd(::open(path().c_str(), O_RDWR | O_CLOEXEC))));
    const codec::MemorySource source(content_);
    auto opened = codec::Frame::open(source, {});
    REQUIRE(opened);
    header = opened->header();
    const auto tail_at = header.header_len + header.cbytes;
    struct stat st{};
    REQUIRE(::stat(path().c_str(), &st) == 0);
    REQUIRE(file->learn(st, source, header.header_len, {tail_at, header.frame_len - tail_at}));
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "x"; }
  [[nodiscard]] Bytes bytes() const {
    Bytes all(std::filesystem::file_size(path()));
    REQUIRE(file->reader().read_at(0, all));
    return all;
  }
  // Another program writes one byte.
  void change_elsewhere(std::uint64_t at) const {
    const UniqueFd other(::open(path().c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(other.get(), "!", 1, static_cast<off_t>(at)) == 1);
  }

 private:
  const test::TempDirectory folder_;
  const Bytes content_;

 public:
  codec::FrameHeader header;
  std::optional<ContiguousFile> file;
};

TEST_CASE("contiguous_file: its own changes leave the known state, and those of others do not",
          "[fs][contiguous_file][unit]") {
  OnDisk disk(test::small_frame(100));
  const auto before = disk.bytes();
  REQUIRE(disk.file->store(before.size(), Bytes(1000)));
  CHECK(disk.file->holds().value());
  CHECK(disk.bytes().size() == before.size() + 1000);
  REQUIRE(disk.file->truncate(before.size()));
  CHECK(disk.file->holds().value());
  CHECK(disk.bytes() == before);
  disk.change_elsewhere(before.size() - 1);  // in the trailer
  CHECK_FALSE(disk.file->holds().value());
}

TEST_CASE("contiguous_file: an empty file gets the whole frame that it stands for",
          "[fs][contiguous_file][unit]") {
  const auto frame = test::small_frame(0);
  OnDisk disk(frame, true);
  CHECK(disk.file->stands_for_frame());
  CHECK(disk.file->holds().value());
  REQUIRE(disk.file->store_first());
  CHECK_FALSE(disk.file->stands_for_frame());
  CHECK(disk.bytes() == frame);
  CHECK(disk.file->holds().value());
}

TEST_CASE("contiguous_file: a published state has the new sizes and parameters",
          "[fs][contiguous_file][unit]") {
  OnDisk disk(test::small_frame(100));
  const auto& header = disk.header;
  const auto trailer = disk.file->read_trailer(header);
  REQUIRE(trailer);
  const auto tail_at = header.header_len + header.cbytes;
  const auto before = disk.bytes();
  const Bytes tail(before.begin() + static_cast<std::ptrdiff_t>(tail_at), before.end());
  CHECK(disk.file->has({tail_at, tail.size()}, tail).value());
  CHECK_FALSE(disk.file->has({tail_at, tail.size()}, Bytes(tail.size())).value());
  CHECK(std::equal(trailer->rbegin(), trailer->rend(), tail.rbegin()));
  // Index and trailer once more, behind the frame.
  const codec::ByteRange place{before.size(), tail.size()};
  REQUIRE(disk.file->store(place.offset, tail));
  disk.file->set_chunksize(header.chunksize / 2);
  REQUIRE(disk.file->publish({.sizes = {.frame_len = place.offset + place.size,
                                        .nbytes = header.nbytes,
                                        .cbytes = place.offset - header.header_len,
                                        .has_vlmetalayers = false},
                              .rest = {},
                              .tail = place,
                              .tail_checksum = CommittedState::checksum(tail)}));
  CHECK(disk.file->holds().value());
  const auto now = codec::Frame::open(disk.file->reader(), {});
  REQUIRE(now);
  CHECK(now->header().frame_len == place.offset + place.size);
  CHECK(now->header().chunksize == header.chunksize / 2);
  // Only header and the bytes behind the frame differ.
  const auto after = disk.bytes();
  CHECK(std::equal(before.begin() + header.header_len, before.end(),
                   after.begin() + header.header_len));
}

}  // namespace
}  // namespace framefs::fs::contiguous_file_test

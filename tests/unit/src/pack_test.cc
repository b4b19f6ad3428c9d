#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "fs/core/files/file.h"
#include "src/cli/exit_codes.h"
#include "src/pack/cmd_pack.h"
#include "tests/support/catch.h"
#include "tests/support/plain_kinds.h"
#include "tests/support/temp_directory.h"

namespace framefs::pack_test {
namespace {

using test::Bytes;

int pack(const std::vector<std::string>& arguments) { return run_pack(arguments); }

struct Unpacked {
  Bytes plain;
  codec::FrameHeader header;
};

Unpacked unpacked(const std::filesystem::path& path) {
  const fs::FileReader source(fs::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  const auto frame = codec::Frame::open(source, codec::Limits{});
  REQUIRE(frame);
  Bytes out(frame->nbytes());
  codec::FrameReader reader(source, *frame, codec::Limits{});
  REQUIRE(reader.read(0, out));
  return {std::move(out), frame->header()};
}

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t entries_of(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_CASE("pack: a packed file of any size is read back", "[src][pack][unit]") {
  const test::TempDirectory folder;
  for (const auto kind : test::kPlainKinds) {
    for (const std::size_t size : {0U, 1U, 31U, 32U, 4095U, 4096U, 4097U, 50000U}) {
      CAPTURE(test::plain_kind_name(kind), size);
      const auto plain = test::plain_bytes(kind, size, 4, 1);
      const auto file = folder.write("x", plain);
      REQUIRE(pack({file, "--force", "--chunk-size", "4096", "--threads", "3"}) == kExitOk);
      REQUIRE(unpacked(folder.path() / "x.b2frame").plain == plain);
    }
  }
  CHECK(entries_of(folder.path()) == 2);  // no temporary file is left
}

TEST_CASE("pack: the frame does not depend on the number of threads", "[src][pack][unit]") {
  const test::TempDirectory folder;
  const auto file = folder.write("x", test::plain_bytes(test::PlainKind::mixed, 300000, 8, 1));
  REQUIRE(pack({file, "-o", folder.path() / "one", "--chunk-size", "10K", "--threads", "1"}) == 0);
  REQUIRE(pack({file, "-o", folder.path() / "six", "--chunk-size", "10K", "--threads", "6"}) == 0);
  CHECK(bytes_of_file(folder.path() / "one") == bytes_of_file(folder.path() / "six"));
}

TEST_CASE("pack: options reach the frame", "[src][pack][unit]") {
  const test::TempDirectory folder;
  const auto plain = test::ramp(100000, 12);
  const auto file = folder.write("x", plain);
  REQUIRE(pack({file, "--codec", "lz4hc", "--level", "7", "--typesize", "12", "--filter",
                "bitshuffle", "--chunk-size", "20K", "--block-size", "5K"}) == kExitOk);
  const auto [read, header] = unpacked(folder.path() / "x.b2frame");
  CHECK(read == plain);
  CHECK(header.codec_id == 2);
  CHECK(header.clevel == 7);
  CHECK(header.typesize == 12);
  CHECK(header.filters[5].id == 2);
  CHECK(header.chunksize == 20480 / 12 * 12);
  CHECK(header.blocksize == 5120 / 12 * 12);
}

TEST_CASE("pack: mode and time are those of the original", "[src][pack][unit]") {
  const test::TempDirectory folder;
  const auto file = folder.write("x", test::counting(5000));
  REQUIRE(::chmod(file.c_str(), 0640) == 0);
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                             {.tv_sec = 1234567890, .tv_nsec = 987654321}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  REQUIRE(pack({file}) == kExitOk);
  struct stat st{};
  REQUIRE(::stat((folder.path() / "x.b2frame").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0640);
  CHECK(st.st_mtim.tv_sec == 1234567890);
  CHECK(st.st_mtim.tv_nsec == 987654321);
}

TEST_CASE("pack: holes become chunks that take nothing", "[src][pack][unit]") {
  const test::TempDirectory folder;
  const auto file = folder.path() / "x";
  const fs::UniqueFd fd(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  REQUIRE(fd);
  REQUIRE(::pwrite(fd.get(), "begin", 5, 0) == 5);
  REQUIRE(::pwrite(fd.get(), "end", 3, off_t{40} << 20) == 3);
  REQUIRE(pack({file, "--chunk-size", "1M"}) == kExitOk);
  const auto [plain, header] = unpacked(folder.path() / "x.b2frame");
  REQUIRE(plain.size() == (std::size_t{40} << 20) + 3);
  CHECK(std::ranges::count(plain, std::byte{0}) == std::ptrdiff_t{40 << 20} - 5);
  CHECK(header.frame_len < 2000);
}

TEST_CASE("pack: an existing frame is replaced only when that is asked for", "[src][pack][unit]") {
  const test::TempDirectory folder;
  const auto file = folder.write("x", test::counting(100));
  const auto frame = folder.write("x.b2frame", "precious");
  CHECK(pack({file}) == kExitFailure);
  CHECK(bytes_of_file(frame) == "precious");
  CHECK(pack({file, "--force"}) == kExitOk);
  CHECK(unpacked(frame).plain == test::counting(100));
}

TEST_CASE("pack: several files go into a folder, and one that fails does not stop the others",
          "[src][pack][unit]") {
  const test::TempDirectory folder;
  const test::TempDirectory out;
  const std::string first = folder.write("first", test::counting(100));
  const std::string second = folder.write("second", test::counting(200));
  const std::string missing = folder.path() / "missing";
  CHECK(pack({first, missing, second, "-o", out.path()}) == kExitFailure);
  CHECK(unpacked(out.path() / "first.b2frame").plain == test::counting(100));
  CHECK(unpacked(out.path() / "second.b2frame").plain == test::counting(200));
  CHECK(entries_of(out.path()) == 2);
}

TEST_CASE("pack: a command that contradicts itself is a usage error", "[src][pack][unit]") {
  const test::TempDirectory folder;
  const std::string file = folder.write("x", test::counting(100));
  CHECK(pack({}) == kExitUsage);
  CHECK(pack({"-", "-"}) == kExitUsage);
  CHECK(pack({"-", "-o", folder.path()}) == kExitUsage);
  CHECK(pack({"-", "-o", "-", "--remove-source"}) == kExitUsage);
  CHECK(pack({file, file, "-o", folder.path() / "one"}) == kExitUsage);
  CHECK(pack({file, "--codec", "snappy"}) == kExitUsage);
  CHECK(pack({file, "--level", "10"}) == kExitUsage);
  CHECK(pack({file, "--typesize", "0"}) == kExitUsage);
  CHECK(pack({file, "--filter", "delta"}) == kExitUsage);
  CHECK(pack({file, "--chunk-size", "0"}) == kExitUsage);
  CHECK(pack({file, "--chunk-size", "-1"}) == kExitUsage);
  CHECK(pack({file, "--chunk-size", "4G"}) == kExitUsage);
  CHECK(pack({file, "--chunk-size", "10", "--typesize", "11"}) == kExitUsage);
  CHECK(entries_of(folder.path()) == 1);
}

}  // namespace
}  // namespace framefs::pack_test

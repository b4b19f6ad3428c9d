#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/cli/stream_sink.h"
#include "src/mount/held_signals.h"
#include "src/pack/copy_out.h"
#include "src/pack/unpacker.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::unpack_test {
namespace {

namespace stdfs = std::filesystem;

test::Bytes read_file(const stdfs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  test::Bytes bytes;
  test::append(bytes, text);
  return bytes;
}

// One run of an unpacker on a file in a folder.
class Run {
 public:
  bool to_file(const stdfs::path& from, const stdfs::path& to) {
    const auto source = find_unpack_source(folder_.path() / from, options, log_.log());
    REQUIRE(source);
    name = source->name;
    const auto unpacker = Unpacker::open(
        *source, options, log_.log(), [this] { return ++asked > stops_after; },
        [this](const std::string& path, const codec::Error& error) {
          failures.push_back(path + ": " + error.field);
        });
    REQUIRE(unpacker);
    return unpacker->to_file(*fs::Place::given(folder_.path() / to));
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : stdfs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  [[nodiscard]] const test::TempDirectory& folder() const { return folder_; }

  UnpackOptions options{.quiet = true};
  int stops_after = 1'000'000;
  int asked = 0;
  std::string name;
  std::vector<std::string> failures;

 private:
  test::TempDirectory folder_;
  test::TestLog log_;
};

TEST_CASE("unpacker: a frame becomes the file that was packed", "[src][unpack][unit]") {
  Run run;
  run.folder().write("x.b2frame", test::small_frame(12'345, 3));
  CHECK(run.to_file("x.b2frame", "out"));
  CHECK(run.name == "x");
  CHECK(read_file(run.folder().path() / "out") == test::noise(12'345, 3));
  CHECK(run.failures.empty());
  CHECK(run.names() == std::vector<std::string>{"out", "x.b2frame"});
}

TEST_CASE("unpacker: an existing file stays unless it may be replaced", "[src][unpack][unit]") {
  Run run;
  run.folder().write("x.b2frame", test::small_frame(100, 3));
  run.folder().write("out", std::string_view("mine"));
  CHECK_FALSE(run.to_file("x.b2frame", "out"));
  CHECK(run.failures.size() == 1);
  CHECK(read_file(run.folder().path() / "out").size() == 4);
  run.options.may_replace = true;
  CHECK(run.to_file("x.b2frame", "out"));
  CHECK(read_file(run.folder().path() / "out").size() == 100);
}

TEST_CASE("unpacker: a stop leaves nothing behind, and is no failure to tell",
          "[src][unpack][unit]") {
  Run run;
  run.folder().write("x.b2frame", test::small_frame(100, 3));
  run.stops_after = 0;
  CHECK_FALSE(run.to_file("x.b2frame", "out"));
  CHECK(run.asked > 0);
  CHECK(run.failures.empty());
  CHECK(run.names() == std::vector<std::string>{"x.b2frame"});
}

TEST_CASE("unpacker: a name without a frame's suffix says nothing of the plain one",
          "[src][unpack][unit]") {
  Run run;
  run.folder().write("data.bin", test::small_frame(100, 3));
  CHECK(run.to_file("data.bin", "out"));
  CHECK(run.name.empty());
}

TEST_CASE("unpacker: a file that is not a frame is refused before any output is made",
          "[src][unpack][corrupt]") {
  Run run;
  test::TestLog log;
  run.folder().write("x.b2frame", test::damaged_frame());
  CHECK_FALSE(find_unpack_source(run.folder().path() / "x.b2frame", {}, log.log()));
  CHECK_FALSE(find_unpack_source(run.folder().path() / "nowhere", {}, log.log()));
}

TEST_CASE("stream sink: ranges that are not written are zeros", "[src][unpack][unit]") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  {
    StreamSink sink(pipe[1]);
    const std::array ab = {std::byte{'a'}, std::byte{'b'}};
    CHECK(sink.write_at(0, ab));
    CHECK(sink.write_at(4, ab));
    CHECK_FALSE(sink.write_at(3, ab));  // already written to the pipe
    CHECK(sink.truncate(8));
    CHECK_FALSE(sink.truncate(7));
  }
  ::close(pipe[1]);
  std::array<char, 16> got{};
  const auto size = ::read(pipe[0], got.data(), got.size());
  ::close(pipe[0]);
  REQUIRE(size == 8);
  CHECK(std::string(got.data(), 8) == std::string("ab\0\0ab\0\0", 8));
}

TEST_CASE("held signals: one that arrives is seen, and takes effect when they are let go",
          "[src][unpack][unit]") {
  static volatile std::sig_atomic_t handled = 0;
  handled = 0;
  struct sigaction before{};
  struct sigaction counting{};
  counting.sa_handler = [](int) { handled = handled + 1; };
  REQUIRE(::sigaction(SIGHUP, &counting, &before) == 0);
  {
    const HeldSignals held;
    CHECK_FALSE(held.has_arrived());
    // Raised in this thread: threads left over from other tests do not block the signal.
    ::raise(SIGHUP);
    CHECK(held.has_arrived());
    CHECK(handled == 0);
  }
  CHECK(handled == 1);
  ::sigaction(SIGHUP, &before, nullptr);
}

TEST_CASE("held signals: an ignored one stays ignored", "[src][unpack][unit]") {
  struct sigaction before{};
  struct sigaction ignoring{};
  ignoring.sa_handler = SIG_IGN;
  REQUIRE(::sigaction(SIGHUP, &ignoring, &before) == 0);
  {
    const HeldSignals held;
    // Raised in this thread: threads left over from other tests do not block the signal.
    ::raise(SIGHUP);
    CHECK_FALSE(held.has_arrived());
  }
  ::sigaction(SIGHUP, &before, nullptr);
}

}  // namespace
}  // namespace framefs::unpack_test

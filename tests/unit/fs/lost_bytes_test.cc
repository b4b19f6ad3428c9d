// Written bytes that are lost: no sync and no change of names pretends that SOURCE has them.

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "fs/tree/filesystem.h"
#include "tests/support/catch.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/test_mount.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::fs::lost_bytes_test {
namespace {

int errno_of_status(const Status& status) { return status ? 0 : status.error().sys; }

// A mount with the synced files `old` and `new`.  Then bytes of `new` are lost, because another
// program has changed the frame before they were committed.
class Loss {
 public:
  explicit Loss(bool is_closed) {
    close(create("old", old_bytes));
    close(create("new", test::noise(2000, 2)));
    auto writer = open("new", O_RDWR);
    REQUIRE(fs().changes().write(*writer, 0, test::noise(100, 3)));
    mount_.write("new.b2frame", test::small_frame(500, 4));
    CHECK(sync(*writer) == EIO);
    if (is_closed) {
      close(std::move(writer));
      REQUIRE(test::comes_true([&] { return !fs().has_write_sessions(); }));
    }
    writer_ = std::move(writer);
  }
  ~Loss() {
    if (writer_) fs().contents().close(*writer_);
  }
  Loss(const Loss&) = delete;
  Loss& operator=(const Loss&) = delete;

  Filesystem& fs() { return mount_.fs(); }
  Mount& mount() { return mount_; }
  std::unique_ptr<OpenFile> open(const std::string& name, int flags) {
    auto opened = fs().contents().open(mount_.lookup(name).id, flags);
    REQUIRE(opened);
    return std::move(opened->file);
  }
  void close(std::unique_ptr<OpenFile> file) { fs().contents().close(*file); }
  int sync(OpenFile& file) { return errno_of_status(fs().changes().sync(file, false)); }
  // The errno of fsync(2) through a descriptor of its own.
  int sync(const std::string& name, int flags) {
    auto file = open(name, flags);
    const int error = sync(*file);
    close(std::move(file));
    return error;
  }
  int rename(const std::string& from, const std::string& to, unsigned flags = 0) {
    return errno_of_status(fs().names().rename(kRootNode, from, kRootNode, to, flags));
  }
  std::unique_ptr<OpenFile> create(const std::string& name, const test::Bytes& bytes) {
    auto made = fs().names().create_file(kRootNode, name, 0644, O_RDWR, {});
    REQUIRE(made);
    REQUIRE(fs().changes().write(*made->opened.file, 0, bytes));
    CHECK(sync(*made->opened.file) == 0);
    return std::move(made->opened.file);
  }

  const test::Bytes old_bytes = test::noise(3000, 1);

 private:
  static MountOptions never_commits() {
    MountOptions options;
    options.write.commit_interval_ms = 3'600'000;
    return options;
  }
  Mount mount_{never_commits()};
  std::unique_ptr<OpenFile> writer_;
};

}  // namespace

TEST_CASE("written_bytes: after a loss no sync of the file succeeds until a writer opens it anew",
          "[fs][written_bytes][unit]") {
  const bool is_closed = GENERATE(false, true);
  CAPTURE(is_closed);
  Loss loss(is_closed);
  CHECK(loss.sync("new", O_RDONLY) == EIO);
  CHECK(loss.sync("new", O_RDONLY) == EIO);
  CHECK(loss.sync("old", O_RDONLY) == 0);
  // Readers get what SOURCE has.
  CHECK(loss.mount().read_all("new") == test::noise(500, 4));
  CHECK(loss.sync("new", O_RDWR) == 0);
  CHECK(loss.sync("new", O_RDONLY) == 0);
}

TEST_CASE("written_bytes: a file that has lost bytes replaces no other one",
          "[fs][written_bytes][unit]") {
  const bool is_closed = GENERATE(false, true);
  CAPTURE(is_closed);
  Loss loss(is_closed);
  CHECK(loss.rename("new", "old") == EIO);
  CHECK(loss.rename("new", "old", RENAME_EXCHANGE) == EIO);
  CHECK(loss.rename("old", "new", RENAME_EXCHANGE) == EIO);
  // The loss belongs to the file, whatever its name.
  CHECK(loss.rename("new", "newer") == 0);
  CHECK(loss.rename("newer", "old") == EIO);
  CHECK(loss.mount().read_all("old") == loss.old_bytes);
  CHECK(test::read_stored(loss.mount().path("old.b2frame")) == loss.old_bytes);
  CHECK(loss.sync("newer", O_RDWR) == 0);
  CHECK(loss.rename("newer", "old") == 0);
  CHECK(loss.mount().read_all("old") == test::noise(500, 4));
}

TEST_CASE("written_bytes: a file that has lost bytes can be replaced and removed",
          "[fs][written_bytes][unit]") {
  const bool is_closed = GENERATE(false, true);
  CAPTURE(is_closed);
  Loss loss(is_closed);
  SECTION("replaced") {
    CHECK(loss.rename("old", "new") == 0);
    CHECK(loss.mount().read_all("new") == loss.old_bytes);
    CHECK(loss.sync("new", O_RDONLY) == 0);
  }
  SECTION("removed") {
    CHECK(loss.fs().names().remove_file(kRootNode, "new"));
    loss.close(loss.create("new", loss.old_bytes));
    CHECK(loss.sync("new", O_RDONLY) == 0);
  }
}

TEST_CASE("written_bytes: an exchange commits both files first", "[fs][written_bytes][unit]") {
  Loss loss(true);
  auto one = loss.create("one", test::noise(100, 5));
  auto other = loss.create("other", test::noise(200, 6));
  REQUIRE(loss.fs().changes().write(*one, 0, test::noise(700, 7)));
  REQUIRE(loss.fs().changes().write(*other, 0, test::noise(800, 8)));
  CHECK(loss.rename("one", "other", RENAME_EXCHANGE) == 0);
  CHECK(test::read_stored(loss.mount().path("other.b2frame")) == test::noise(700, 7));
  CHECK(test::read_stored(loss.mount().path("one.b2frame")) == test::noise(800, 8));
  loss.close(std::move(one));
  loss.close(std::move(other));
}

}  // namespace framefs::fs::lost_bytes_test

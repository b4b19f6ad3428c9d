// No answer carries an outdated size.  A request looks at SOURCE several times.  Between two looks,
// a write session may begin, be committed or end.  The answer must describe a moment within the
// request.

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fs/tree/filesystem.h"
#include "tests/support/catch.h"
#include "tests/unit/fs/test_mount.h"

namespace framefs::fs::fresh_answers_test {
namespace {

using namespace std::chrono_literals;

constexpr Caller kRoot{};
constexpr off_t kCommitted = 1000;  // size of the frame in SOURCE at first
constexpr off_t kGrown = 1500;      // size after the write

// A frame with 500 more bytes written, and a step of a request at which an event runs.
class Fresh {
 public:
  explicit Fresh(const MountOptions& options = {}) : mount_(options) {
    mount_.watcher = [this] { look(); };
    mount_.write("x.b2frame", test::small_frame(kCommitted));
    id_ = mount_.lookup("x").id;
  }
  ~Fresh() {
    if (writer_) close();
  }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;

  Filesystem& fs() { return mount_.fs(); }
  Mount& mount() { return mount_; }
  [[nodiscard]] NodeId id() const { return id_; }

  void open() {
    auto opened = fs().contents().open(id_, O_RDWR);
    REQUIRE(opened);
    writer_ = std::move(opened->file);
  }
  void append(std::uint64_t offset, std::size_t size) {
    REQUIRE(fs().changes().write(*writer_, offset, test::noise(size, 9)));
  }
  // Closes the writer.  Returns once the frame is committed and its write session has ended.
  void close() {
    fs().contents().close(*writer_);
    writer_.reset();
    const auto patience = std::chrono::steady_clock::now() + 60s;
    while (fs().is_being_written(id_) && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(1ms);
    }
    REQUIRE_FALSE(fs().is_being_written(id_));
  }

  // Runs `event` when `request` looks at SOURCE for the `step`-th time.  Returns false if the
  // request looks less often.
  bool run_at(std::size_t step, const std::function<void()>& event,
              const std::function<void()>& request) {
    steps_left_ = step;
    event_ = event;
    request();
    event_ = nullptr;
    return steps_left_ == 0;
  }

 private:
  void look() {
    if (!event_ || steps_left_ == 0 || --steps_left_ > 0) return;
    std::exchange(event_, nullptr)();
  }

  std::size_t steps_left_ = 0;
  std::function<void()> event_;
  Mount mount_;
  NodeId id_ = 0;
  std::unique_ptr<OpenFile> writer_;
};

// A request whose answer contains a size.
struct Request {
  std::string name;
  std::function<off_t(Fresh&)> size;
};

off_t size_of(const Result<struct stat>& st) {
  REQUIRE(st);
  return st->st_size;
}

off_t size_of(Fresh& fresh, const Result<NodeEntry>& entry) {
  REQUIRE(entry);
  fresh.fs().tree().forget(entry->id, 1);
  return entry->stat.st_size;
}

off_t size_in_listing(Fresh& fresh) {
  const auto directory = fresh.fs().tree().open_directory(kRootNode);
  REQUIRE(directory);
  const auto entries = fresh.fs().tree().list(**directory);
  REQUIRE(entries);
  for (const auto& entry : *entries) {
    if (entry.shown.name == "x")
      return size_of(fresh, fresh.fs().tree().lookup(**directory, entry));
  }
  FAIL("not listed");
  return 0;
}

off_t size_of_open_file(Fresh& fresh) {
  const auto opened = fresh.mount().open(fresh.id());
  const auto size = size_of(fresh.fs().tree().stat_file(*opened.file));
  fresh.fs().contents().close(*opened.file);
  return size;
}

off_t size_at_creation(Fresh& fresh) {
  const auto created =
      fresh.fs().names().create_file(kRootNode, "x", 0644, O_RDONLY | O_CREAT, kRoot);
  REQUIRE(created);
  fresh.fs().contents().close(*created->opened.file);
  return size_of(fresh, created->entry);
}

off_t size_of_link(Fresh& fresh) {
  const auto size = size_of(fresh, fresh.fs().names().make_link(fresh.id(), kRootNode, "link"));
  REQUIRE(fresh.fs().names().remove_file(kRootNode, "link"));
  return size;
}

off_t size_at_chmod(Fresh& fresh) {
  AttributeChange change;
  change.mode = 0640;
  const auto changed = fresh.fs().attributes().set(fresh.id(), change, nullptr);
  REQUIRE(changed);
  return changed->stat.st_size;
}

const std::vector<Request>& requests() {
  static const std::vector<Request> all = {
      {"stat", [](Fresh& fresh) { return size_of(fresh.fs().tree().stat_node(fresh.id())); }},
      {"fstat", size_of_open_file},
      {"lookup",
       [](Fresh& fresh) { return size_of(fresh, fresh.fs().tree().lookup(kRootNode, "x")); }},
      {"listing", size_in_listing},
      {"create", size_at_creation},
      {"link", size_of_link},
      {"chmod", size_at_chmod},
  };
  return all;
}

TEST_CASE("fresh answers: a commit that ends beside a request hides no byte",
          "[fs][fresh_answers][race]") {
  for (const auto& request : requests()) {
    CAPTURE(request.name);
    std::size_t step = 0;
    for (bool reached = true; reached;) {
      Fresh fresh;
      fresh.open();
      fresh.append(kCommitted, 500);
      off_t size = 0;
      reached = fresh.run_at(++step, [&] { fresh.close(); }, [&] { size = request.size(fresh); });
      CAPTURE(step);
      CHECK(size == kGrown);
    }
    CHECK(step > 1);  // the request looked at SOURCE
  }
}

TEST_CASE("fresh answers: bytes written and committed during a request are in the answer",
          "[fs][fresh_answers][race]") {
  for (const auto& request : requests()) {
    CAPTURE(request.name);
    for (const bool ends : {false, true}) {
      CAPTURE(ends);
      std::size_t step = 0;
      for (bool reached = true; reached;) {
        Fresh fresh;
        const auto event = [&] {
          fresh.open();
          fresh.append(kCommitted, 500);
          if (ends) fresh.close();
        };
        off_t size = 0;
        reached = fresh.run_at(++step, event, [&] { size = request.size(fresh); });
        CAPTURE(step);
        // An event after the last look may be missing: the answer describes a moment within the
        // request.
        CHECK((size == kGrown || size == kCommitted));
        if (!reached) CHECK(size == kCommitted);
        CHECK(request.size(fresh) == (reached ? kGrown : kCommitted));
      }
    }
  }
}

TEST_CASE("fresh answers: a listing that was taken before has the sizes of the reply",
          "[fs][fresh_answers][unit]") {
  Fresh fresh;
  const auto directory = fresh.fs().tree().open_directory(kRootNode);
  REQUIRE(directory);
  const auto entries = fresh.fs().tree().list(**directory);
  REQUIRE(entries);
  REQUIRE(entries->size() == 1);
  const auto size = [&] {
    return size_of(fresh, fresh.fs().tree().lookup(**directory, (*entries)[0]));
  };
  CHECK(size() == kCommitted);
  fresh.open();
  fresh.append(kCommitted, 500);
  CHECK(size() == kGrown);
  fresh.close();
  CHECK(size() == kGrown);
}

TEST_CASE("fresh answers: an entry that has changed since the listing is left to a lookup by name",
          "[fs][fresh_answers][unit]") {
  Fresh fresh;
  const auto directory = fresh.fs().tree().open_directory(kRootNode);
  REQUIRE(directory);
  const auto entries = fresh.fs().tree().list(**directory);
  REQUIRE(entries);
  fresh.mount().write("x.b2frame", "no frame any more");
  const auto entry = fresh.fs().tree().lookup(**directory, (*entries)[0]);
  REQUIRE_FALSE(entry);
  CHECK(entry.error().sys == ESTALE);
}

TEST_CASE("fresh answers: creating a file that is there and cutting it answers its new size",
          "[fs][fresh_answers][unit]") {
  Fresh fresh;
  const auto created =
      fresh.fs().names().create_file(kRootNode, "x", 0644, O_RDWR | O_CREAT | O_TRUNC, kRoot);
  REQUIRE(created);
  CHECK(created->entry.stat.st_size == 0);
  fresh.fs().contents().close(*created->opened.file);
}

TEST_CASE("fresh answers: appended bytes go to the true end of the file",
          "[fs][fresh_answers][unit]") {
  Fresh fresh;
  auto opened = fresh.fs().contents().open(fresh.id(), O_RDWR | O_APPEND);
  REQUIRE(opened);
  auto& file = *opened->file;
  const auto one = test::noise(500, 1);
  const auto two = test::noise(300, 2);
  CHECK(fresh.fs().changes().append(file, kCommitted, one) == true);
  // 700, the caller's offset, was not the end.
  CHECK(fresh.fs().changes().append(file, 700, two) == false);
  const auto bytes = fresh.mount().read(file, 0, 10000);
  REQUIRE(bytes);
  auto wanted = test::noise(kCommitted, 1);
  test::append(wanted, one);
  test::append(wanted, two);
  CHECK(*bytes == wanted);
  fresh.fs().contents().close(file);
}

TEST_CASE("fresh answers: bytes appended to a plain file go to its end in SOURCE",
          "[fs][fresh_answers][unit]") {
  Mount mount;
  mount.write("text", "hello");
  const auto opened = mount.fs().contents().open(mount.lookup("text").id, O_WRONLY | O_APPEND);
  REQUIRE(opened);
  const auto append = [&](std::uint64_t offset, std::string_view text) {
    const auto is_there =
        mount.fs().changes().append(*opened->file, offset, std::as_bytes(std::span(text)));
    REQUIRE(is_there);
    return *is_there;
  };
  CHECK(append(5, ", you"));
  mount.write("text", "hello, you and others");
  CHECK_FALSE(append(10, " there"));
  CHECK(mount.stat("text").st_size == 27);
  mount.fs().contents().close(*opened->file);
}

}  // namespace
}  // namespace framefs::fs::fresh_answers_test

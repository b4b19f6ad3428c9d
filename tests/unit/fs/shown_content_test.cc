#include "fs/tree/records/shown_content.h"

#include "fs/read/buffer_pool.h"
#include "fs/view/window_view.h"
#include "tests/support/catch.h"

namespace framefs::fs::shown_content_test {
namespace {

constexpr FileIdentity kOld{.device = 1, .inode = 2, .size = 10};
constexpr FileIdentity kNew{.device = 1, .inode = 2, .size = 20};

struct Shown {
  std::shared_ptr<const View> new_view() {
    return std::make_shared<const WindowView>(system_error_of(EIO, "test"), buffers);
  }
  ContentId id_of(const FileIdentity& identity) { return content.id_of(identity, ids, dropped); }

  BufferPool buffers{0};
  ContentIds ids;
  ShownContent content;
  ShownContent::Dropped dropped;
};

TEST_CASE("shown_content: another state has another id and no view", "[fs][shown_content][unit]") {
  Shown shown;
  auto& content = shown.content;
  const auto id = shown.id_of(kOld);
  CHECK(shown.id_of(kOld) == id);
  const auto view = shown.new_view();
  CHECK(content.keep(id, view) == view);
  CHECK(content.view_of(id) == view);
  const auto next = shown.id_of(kNew);
  CHECK(next != id);
  CHECK(shown.dropped == view);
  CHECK(content.view_of(next) == nullptr);
  // A thread that is late keeps its view for itself.
  CHECK(content.keep(id, view) == view);
  CHECK(content.view_of(next) == nullptr);
  // The times may be those of another state.
  CHECK(content.forget() == nullptr);
  CHECK(shown.id_of(kNew) != next);
}

TEST_CASE("shown_content: the first view of a state is the view of all",
          "[fs][shown_content][unit]") {
  Shown shown;
  const auto id = shown.id_of(kOld);
  const auto first = shown.new_view();
  CHECK(shown.content.keep(id, first) == first);
  CHECK(shown.content.keep(id, shown.new_view()) == first);
  CHECK(shown.content.release() == first);
  CHECK(shown.content.view_of(id) == nullptr);
}

TEST_CASE("shown_content: a state is readable once its view was", "[fs][shown_content][unit]") {
  Shown shown;
  auto& content = shown.content;
  CHECK_FALSE(content.is_readable(FileIdentity{}));
  const auto view = content.keep(shown.id_of(kOld), shown.new_view());
  CHECK_FALSE(content.is_readable(kOld));
  content.note_readable(shown.new_view());  // of another state
  CHECK_FALSE(content.is_readable(kOld));
  content.note_readable(view);
  CHECK(content.is_readable(kOld));
  CHECK_FALSE(content.is_readable(kNew));
  shown.id_of(kNew);
  CHECK_FALSE(content.is_readable(kNew));
}

TEST_CASE("shown_content: a session has a view of its own, and leaves another state",
          "[fs][shown_content][unit]") {
  Shown shown;
  auto& content = shown.content;
  const auto id = shown.id_of(kOld);
  const auto view = content.keep(id, shown.new_view());
  const auto of_session = shown.new_view();
  CHECK(content.view_of_session(5) == nullptr);
  CHECK(content.keep_of_session(5, of_session) == nullptr);
  CHECK(content.view_of_session(5) == of_session);
  CHECK(content.view_of_session(6) == nullptr);
  CHECK(content.view_of(id) == view);
  CHECK(content.end_session() == of_session);
  CHECK(content.view_of_session(5) == nullptr);
  CHECK(content.view_of(id) == nullptr);
  CHECK(shown.id_of(kOld) != id);
}

}  // namespace
}  // namespace framefs::fs::shown_content_test

#include "fs/tree/changes/new_names.h"

#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/catch.h"
#include "tests/unit/fs/source_kinds.h"

namespace framefs::fs::new_names_test {
namespace {

// Names for entries of a folder.  Each member returns the name in SOURCE, or the errno as text.
class Names {
 public:
  explicit Names(const Files& files) : source_(files) {}

  std::string for_frame(const std::string& name) {
    const FrameSummary frame{.content = Content::frame, .chunksize = 100};
    return text_of_result(names_.for_frame(tree_.folder(source_), name, frame, {}));
  }
  std::string for_array(const std::string& name) {
    return text_of_result(names_.for_array(tree_.folder(source_), name));
  }
  std::string for_link(const std::string& source_name, const ShownName& asked) {
    const auto file = source_.open(source_name);
    return text_of_result(names_.for_link(tree_.folder(source_), asked, file.get(), source_name));
  }
  // `replaced` is the shown name of an entry, or null.
  std::string for_moved(const std::string& name, const std::string& new_name,
                        const char* replaced) {
    const auto node = std::make_shared<Node>(kRootNode, NodeKey{});
    ParentFolder in;
    in.node = node;
    in.folder = std::make_unique<DiskFolder>(source_.open(), tree_.probe);
    const NamedEntry moved{in, find(*in.folder, name)};
    if (replaced == nullptr) {
      return text_of_result(names_.for_moved(moved, in, new_name, nullptr));
    }
    const auto there = find(*in.folder, replaced);
    return text_of_result(names_.for_moved(moved, in, new_name, &there));
  }

 private:
  [[nodiscard]] NameMap::Found find(const Folder& folder, const std::string& name) const {
    auto found = tree_.directory.find(folder, name);
    REQUIRE(found);
    return std::move(*found);
  }
  static std::string text_of_result(const Result<std::string>& placed) {
    return placed ? *placed : std::to_string(placed.error().sys);
  }

  const SourceFiles source_;
  NameTree tree_;
  const NewNames names_{tree_.probe, tree_.directory};
};

TEST_CASE("new_names: a new frame and a new array get the suffix of what they are",
          "[fs][new_names][unit]") {
  Names names({{"taken.b2frame", Kind::frame}});
  CHECK(names.for_frame("new") == "new.b2frame");
  CHECK(names.for_array("new.npy") == "new.b2nd");
  // Under no name in SOURCE would an array be shown as a file of bytes.
  CHECK(names.for_array("new") == std::to_string(EPERM));
  CHECK(names.for_frame("taken") != "taken.b2frame");
}

TEST_CASE("new_names: a moved or linked entry keeps its suffix, or gets that of what it replaces",
          "[fs][new_names][unit]") {
  Names names({{"a.b2", Kind::frame}, {"b.b2f", Kind::frame}, {"text", Kind::text}});
  CHECK(names.for_moved("a", "c", nullptr) == "c.b2");
  CHECK(names.for_moved("a", "b", "b") == "b.b2f");
  CHECK(names.for_moved("text", "other", nullptr) == "other");
  CHECK(names.for_link("a.b2", {"d", ShownAs::frame}) == "d.b2");
  CHECK(names.for_link("text", {"e", ShownAs::itself}) == "e");
  // The content of a plain file does not matter, but SOURCE would look for a frame in it.
  CHECK(names.for_link("a.b2", {"e.b2", ShownAs::itself}) == std::to_string(EPERM));
}

}  // namespace
}  // namespace framefs::fs::new_names_test

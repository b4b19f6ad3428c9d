#include "fs/remote/remote_locator.h"

#include <cerrno>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/net/credentials/aws_environment.h"
#include "fs/net/credentials/credential_access.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/http_server.h"
#include "tests/support/zip_builder.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs::remote_locator_test {
namespace {

using test::Bytes;
using Origin = RemoteLocator::Origin;

// A web server with files in its root, and the parts of a mount of it that locate nodes.
class Mount {
 public:
  struct File {
    Bytes content;
    std::string etag = "\"1\"";
  };
  using Files = std::map<std::string, File>;

  // `single_name`: SOURCE is this file.
  explicit Mount(Files files, std::string single_name = "")
      : files_(std::in_place, std::move(files)), root_(root_of(std::move(single_name))) {
    store_->start();
  }
  ~Mount() { store_->stop(); }

  void replace(const std::string& name, File file) {
    files_.with([&](Files& files) { files.insert_or_assign(name, std::move(file)); });
  }
  RemoteLocator& locator() { return locator_; }
  std::shared_ptr<Node> root() { return locator_.nodes().root(); }
  // A node in the root.
  std::shared_ptr<Node> node(const std::string& name, ShownAs shown_as, bool is_directory = false) {
    return locator_.nodes().lookup(
        root(), name, {0, RemoteDirectories::inode_of(name, is_directory), shown_as, {}});
  }
  std::vector<std::string> log_lines() const { return log_.lines(); }
  std::string url() const { return server_.url(); }

 private:
  test::ServedAnswer answer(const test::ServedRequest& request) {
    const auto name = request.target.substr(1);
    return files_.with([&](const Files& files) {
      if (name.empty()) {
        std::string links;
        for (const auto& [file, content] : files) links += "<a href=\"" + file + "\">x</a>";
        return test::served(200, links, {{"Content-Type", "text/html"}});
      }
      const auto found = files.find(name);
      if (found == files.end()) return test::served(404);
      const auto& [content, etag] = found->second;
      const std::string_view text(test::as_chars(content.data()), content.size());
      return test::served_range(request, text, {{"ETag", etag}});
    });
  }
  static RemoteRoot root_of(std::string single_name) {
    const bool is_single = !single_name.empty();
    return {.key = {0,
                    RemoteDirectories::inode_of("", !is_single),
                    is_single ? ShownAs::frame : ShownAs::itself,
                    {}},
            .single_name = std::move(single_name),
            .expected = is_single ? Expected::frame : Expected::nothing};
  }
  MountOptions options() const {
    MountOptions options;
    options.source = server_.url() + "/" + root_.single_name;
    return options;
  }

  Guarded<Files> files_;
  const RemoteRoot root_;
  test::HttpServer server_{[this](const auto& request) { return answer(request); }};
  net::DirectAccess access_;
  test::TestLog log_;
  const std::unique_ptr<RemoteStore> store_ =
      *RemoteStore::open(options(), net::AwsEnvironment(), access_, log_.log());
  RemoteDirectories directories_{*store_, options(), log_.log()};
  ReadCore reads_{options(), log_.log()};
  RemoteLocator locator_{root_, *store_, directories_, reads_};
};

// All bytes behind a node.
Bytes bytes_of(const Origin& origin) {
  Bytes bytes(*origin.frame.source->size());
  REQUIRE(origin.frame.source->read_at(0, bytes));
  return bytes;
}

TEST_CASE("remote_locator: the bytes of a node are those of its object",
          "[fs][remote_locator][unit]") {
  const auto frame = test::small_frame(5000);
  Mount mount({{"x.b2frame", {frame}}});
  const auto node = mount.node("x.b2frame", ShownAs::frame);
  const auto entry = mount.locator().probe(*node);
  REQUIRE(entry);
  CHECK(entry->stat.st_size == static_cast<off_t>(frame.size()));
  const auto origin = mount.locator().open(*node);
  REQUIRE(origin);
  CHECK(bytes_of(*origin) == frame);
  CHECK(origin->frame.name == mount.url() + "/x.b2frame");
  CHECK(origin->version.size == static_cast<std::int64_t>(frame.size()));
  CHECK_FALSE(origin->is_newer);
}

TEST_CASE("remote_locator: a node is opened at the newest version of its object",
          "[fs][remote_locator][unit]") {
  Mount mount({{"x.b2frame", {test::small_frame(5000)}}});
  const auto node = mount.node("x.b2frame", ShownAs::frame);
  const auto old = mount.locator().open(*node);
  REQUIRE(old);
  const auto frame = test::small_frame(6000, 2);
  mount.replace("x.b2frame", {frame, "\"2\""});
  const auto other = mount.locator().open(*node);
  REQUIRE(other);
  CHECK(bytes_of(*other) == frame);
  CHECK(other->version != old->version);
  CHECK(other->is_newer);
  // It is not newer than what was learned by then.
  const auto again = mount.locator().open(*node);
  REQUIRE(again);
  CHECK(again->version == other->version);
  CHECK_FALSE(again->is_newer);
}

TEST_CASE("remote_locator: a directory has no bytes", "[fs][remote_locator][unit]") {
  Mount mount({});
  const auto entry = mount.locator().probe(*mount.root());
  REQUIRE(entry);
  CHECK(S_ISDIR(entry->stat.st_mode));
  const auto opened = mount.locator().open(*mount.root());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().sys == EISDIR);
}

TEST_CASE("remote_locator: an object in the place of a directory is another node",
          "[fs][remote_locator][unit]") {
  Mount mount({{"x", {test::counting(10)}}});
  CHECK(mount.locator().probe(*mount.node("x", ShownAs::itself)));
  const auto probed = mount.locator().probe(*mount.node("x", ShownAs::itself, true));
  REQUIRE_FALSE(probed);
  CHECK(probed.error().sys == ESTALE);
}

TEST_CASE("remote_locator: a member is opened in its container", "[fs][remote_locator][unit]") {
  const auto frame = test::small_frame(5000);
  const auto zip = test::build_zip({.files = {{.name = "a.b2frame", .content = frame}}}).bytes;
  Mount mount({{"c.b2z", {zip}}});
  const auto container = mount.node("c.b2z", ShownAs::container);
  auto key = container->key;
  key.shown_as = ShownAs::frame;
  key.member = std::string("a.b2frame");
  key.container = container->id;
  const auto member = mount.locator().nodes().lookup(container, "a.b2frame", key);
  CHECK(mount.locator().name_for_log(*member) == mount.url() + "/c.b2z/a.b2frame");
  const auto entry = mount.locator().probe(*member);
  REQUIRE(entry);
  CHECK(entry->stat.st_size == static_cast<off_t>(frame.size()));
  const auto origin = mount.locator().open(*member);
  REQUIRE(origin);
  CHECK(bytes_of(*origin) == frame);
  // It has the version of the container, which is read once.
  CHECK(origin->version.size == static_cast<std::int64_t>(zip.size()));
  const auto of_member = mount.locator().open_container(*member);
  const auto of_itself = mount.locator().open_container(*container);
  REQUIRE(of_member);
  REQUIRE(of_itself);
  CHECK(of_member->container == of_itself->container);
}

TEST_CASE("remote_locator: a SOURCE that is one object is the root of its store",
          "[fs][remote_locator][unit]") {
  const auto frame = test::small_frame(5000);
  Mount mount({{"x.b2frame", {frame}}}, "x.b2frame");
  CHECK(mount.locator().path_of(*mount.root()).empty());
  CHECK(mount.locator().name_for_log(*mount.root()) == mount.url() + "/x.b2frame");
  const auto origin = mount.locator().open(*mount.root());
  REQUIRE(origin);
  CHECK(bytes_of(*origin) == frame);
}

TEST_CASE("remote_locator: the log names failures, but not ordinary answers",
          "[fs][remote_locator][unit]") {
  Mount mount({});
  const auto node = mount.node("x.b2frame", ShownAs::frame);
  for (const int ordinary : {ENOENT, ENOTDIR, ESTALE, EINTR}) {
    CHECK_FALSE(mount.locator().logged(*node, Result<int>(system_error_of(ordinary, "open"))));
  }
  CHECK(mount.locator().logged(*node, Result<int>(7)) == 7);
  CHECK(mount.log_lines().empty());
  CHECK_FALSE(mount.locator().logged(*node, Result<int>(system_error_of(EACCES, "open"))));
  REQUIRE(mount.log_lines().size() == 1);
  CHECK(mount.log_lines()[0].contains(mount.url() + "/x.b2frame"));
}

}  // namespace
}  // namespace framefs::fs::remote_locator_test

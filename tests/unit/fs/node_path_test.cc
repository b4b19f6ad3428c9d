#include "fs/tree/nodes/node_path.h"

#include <memory>
#include <string>

#include "tests/support/catch.h"

namespace framefs::fs::node_path_test {
namespace {

NodeKey key_of(std::uint64_t inode, ShownAs shown_as = ShownAs::itself) {
  return {.device = 1, .inode = inode, .shown_as = shown_as, .member = {}};
}

std::shared_ptr<Node> node_below(const std::shared_ptr<Node>& parent, NodeId id,
                                 const std::string& name) {
  auto node = std::make_shared<Node>(id, key_of(id));
  CHECK(NodePath::put(*node, parent, name) == nullptr);
  return node;
}

TEST_CASE("node_path: the text has the names below the root", "[fs][node_path][unit]") {
  const auto root = std::make_shared<Node>(kRootNode, key_of(kRootNode));
  const auto folder = node_below(root, 10, "a");
  const auto file = node_below(folder, 11, "b");
  CHECK(NodePath::text(*root, ".") == ".");
  CHECK(NodePath::text(*folder, ".") == "a");
  CHECK(NodePath::text(*file, ".") == "a/b");
  CHECK(NodePath::put(*folder, root, "c") == root);
  CHECK(NodePath::text(*file, ".") == "c/b");
}

TEST_CASE("node_path: a node without a place has no path", "[fs][node_path][unit]") {
  CHECK(NodePath::text(Node(10, key_of(10)), ".").empty());
}

TEST_CASE("node_path: a path ends with one name below one parent", "[fs][node_path][unit]") {
  const auto root = std::make_shared<Node>(kRootNode, key_of(kRootNode));
  const auto folder = node_below(root, 10, "a");
  CHECK(NodePath::ends_with(*folder, root, "a"));
  CHECK_FALSE(NodePath::ends_with(*folder, root, "b"));
  CHECK_FALSE(NodePath::ends_with(*folder, folder, "a"));
}

TEST_CASE("node_path: a path leads through the node itself and those above",
          "[fs][node_path][unit]") {
  const auto root = std::make_shared<Node>(kRootNode, key_of(kRootNode));
  const auto folder = node_below(root, 10, "a");
  const auto file = node_below(folder, 11, "b");
  const auto other = node_below(root, 12, "c");
  for (const auto& above : {root, folder, file}) CHECK(NodePath::leads_through(*above, *file));
  CHECK_FALSE(NodePath::leads_through(*other, *file));
  CHECK_FALSE(NodePath::leads_through(*file, *folder));
}

TEST_CASE("node_path: a member has the path of its container", "[fs][node_path][unit]") {
  const auto root = std::make_shared<Node>(kRootNode, key_of(kRootNode));
  const auto container = node_below(root, 10, "x.b2z");
  const auto member_below = [](const std::shared_ptr<Node>& parent, NodeId id) {
    NodeKey key = key_of(10, ShownAs::frame);
    key.member = "member" + std::to_string(id);
    key.container = 10;
    auto node = std::make_shared<Node>(id, key);
    NodePath::put(*node, parent, "member");
    return node;
  };
  const auto folder = member_below(container, 11);
  const auto file = member_below(folder, 12);
  CHECK(NodePath::text(*file, ".") == "x.b2z");
  CHECK(NodePath::container_of(*file) == container);
  CHECK(NodePath::container_of(*folder) == container);
}

}  // namespace
}  // namespace framefs::fs::node_path_test

#include "fs/tree/nodes/node_index.h"

#include "tests/support/catch.h"

namespace framefs::fs::node_index_test {
namespace {

NodeKey key_of(std::uint64_t inode, ShownAs shown_as = ShownAs::frame) {
  return {.device = 1, .inode = inode, .shown_as = shown_as, .member = {}};
}

TEST_CASE("node_index: a node is found by its number and by its key", "[fs][node_index][unit]") {
  NodeIndex index;
  const auto node = std::make_shared<Node>(2, key_of(10));
  index.add(node);
  CHECK(index.find(NodeId{2}) == node);
  CHECK(index.find(key_of(10)) == node);
  CHECK(index.find(NodeId{3}) == nullptr);
  CHECK(index.find(key_of(11)) == nullptr);
  index.remove(*node);
  CHECK(index.find(NodeId{2}) == nullptr);
  CHECK(index.find(key_of(10)) == nullptr);
}

TEST_CASE("node_index: a file has one node for each way in which it is shown",
          "[fs][node_index][unit]") {
  NodeIndex index;
  const auto frame = std::make_shared<Node>(2, key_of(10));
  const auto array = std::make_shared<Node>(3, key_of(10, ShownAs::npy));
  index.add(frame);
  index.add(array);
  index.add(std::make_shared<Node>(4, key_of(11)));
  CHECK(index.of({1, 10}) == NodeIndex::Nodes{frame, array});
  CHECK(index.of({2, 10}).empty());
}

TEST_CASE("node_index: a later version has the key, and the earlier one keeps its number",
          "[fs][node_index][unit]") {
  NodeIndex index;
  const auto early = std::make_shared<Node>(2, key_of(10));
  const auto late = std::make_shared<Node>(3, key_of(10));
  index.add(early);
  index.add(late);
  CHECK(index.find(key_of(10)) == late);
  CHECK(index.find(NodeId{2}) == early);
  index.release_key(*early);
  index.remove(*early);
  CHECK(index.find(key_of(10)) == late);
  CHECK(index.find(NodeId{2}) == nullptr);
  // The kernel remembers the early one.
  CHECK(index.restore(early));
  CHECK(index.find(NodeId{2}) == early);
  CHECK(index.find(key_of(10)) == late);
  CHECK_FALSE(index.restore(std::make_shared<Node>(3, key_of(12))));
  CHECK(index.find(key_of(12)) == nullptr);
  index.release_key(*late);
  CHECK(index.find(key_of(10)) == nullptr);
  CHECK(index.find(NodeId{3}) == late);
}

TEST_CASE("node_index: a number leads to the node that got it last", "[fs][node_index][unit]") {
  NodeIndex index;
  const auto before = std::make_shared<Node>(2, key_of(10));
  const auto after = std::make_shared<Node>(2, key_of(11));
  index.add(before);
  index.add(after);
  CHECK(index.find(NodeId{2}) == after);
  CHECK(index.find(key_of(10)) == nullptr);
  CHECK(index.find(key_of(11)) == after);
  index.remove(*before);
  CHECK(index.find(NodeId{2}) == after);
}

}  // namespace
}  // namespace framefs::fs::node_index_test

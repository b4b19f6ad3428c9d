#include "fs/tree/nodes/node_index.h"

#include <cstdint>
#include <map>
#include <memory>
#include <random>

#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

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

// Oracle: a map for the numbers and one for the keys.
TEST_CASE("node_index: after random changes, each number and key leads to its node",
          "[fs][node_index][unit]") {
  constexpr std::uint64_t kNumbers = 300;
  constexpr std::uint64_t kInodes = 200;
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  NodeIndex index;
  std::map<NodeId, std::shared_ptr<Node>> by_id;
  std::map<std::uint64_t, std::shared_ptr<Node>> by_inode;
  const auto lose_key = [&](const std::shared_ptr<Node>& node) {
    const auto known = by_inode.find(node->key.inode);
    if (known != by_inode.end() && known->second == node) by_inode.erase(known);
  };
  const auto remove = [&](NodeId id) {
    const auto known = by_id.find(id);
    if (known == by_id.end()) return;
    lose_key(known->second);
    by_id.erase(known);
  };
  for (int i = 0; i < 20'000; ++i) {
    const NodeId id = 1 + random() % kNumbers;
    const auto node = std::make_shared<Node>(id, key_of(random() % kInodes));
    const auto known = by_id.find(id);
    const auto before = known == by_id.end() ? nullptr : known->second;
    // It grows for a while, and then shrinks.
    const bool grows = i / 5'000 % 2 == 0;
    const auto action = random() % 8;
    if (action < (grows ? 5U : 1U)) {
      index.add(node);
      remove(id);
      by_id[id] = by_inode[node->key.inode] = node;
    } else if (action < (grows ? 6U : 2U)) {
      CHECK(index.restore(node) == !before);
      if (!before) {
        by_inode.try_emplace(node->key.inode, node);
        by_id[id] = node;
      }
    } else if (before && action == 6) {
      index.release_key(*before);
      lose_key(before);
    } else if (before) {
      index.remove(*before);
      remove(id);
    }
    const auto inode = random() % kInodes;
    const auto found = by_inode.find(inode);
    REQUIRE(index.find(key_of(inode)) == (found == by_inode.end() ? nullptr : found->second));
    const NodeId asked = 1 + random() % kNumbers;
    const auto numbered = by_id.find(asked);
    REQUIRE(index.find(asked) == (numbered == by_id.end() ? nullptr : numbered->second));
  }
}

}  // namespace
}  // namespace framefs::fs::node_index_test

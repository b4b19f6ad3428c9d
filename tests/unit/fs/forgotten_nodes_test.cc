#include "fs/tree/nodes/forgotten_nodes.h"

#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace framefs::fs::forgotten_nodes_test {
namespace {

ForgottenNodes::Node node_of(NodeId id, std::string name = "x", std::string member = {}) {
  const NodeKey key{
      .device = 1, .inode = id, .shown_as = ShownAs::itself, .member = std::move(member)};
  return {.id = id, .key = key, .parent = kRootNode, .name = std::move(name)};
}

TEST_CASE("forgotten_nodes: nodes are found by number and by key", "[fs][forgotten_nodes][unit]") {
  ForgottenNodes nodes;
  nodes.add(node_of(10, "a"));
  nodes.add(node_of(11, "b"));
  REQUIRE(nodes.find(10) != nullptr);
  CHECK(nodes.find(10)->name == "a");
  CHECK(nodes.find(12) == nullptr);
  CHECK(nodes.take(node_of(11).key, kRootNode, "b") == 11);
  CHECK(nodes.find(11) == nullptr);
  nodes.add(node_of(10, "again"));
  CHECK(nodes.find(10)->name == "again");
  nodes.remove(10);
  nodes.remove(10);
  CHECK(nodes.size() == 0);
}

TEST_CASE("forgotten_nodes: a node that is found elsewhere is dropped",
          "[fs][forgotten_nodes][unit]") {
  ForgottenNodes nodes;
  nodes.add(node_of(10, "a"));
  nodes.add(node_of(11, "b"));
  CHECK_FALSE(nodes.take(node_of(10).key, kRootNode, "other"));
  CHECK_FALSE(nodes.take(node_of(11).key, kRootNode + 1, "b"));
  CHECK(nodes.size() == 0);
}

TEST_CASE("forgotten_nodes: memory is bounded, and the oldest nodes go first",
          "[fs][forgotten_nodes][unit]") {
  ForgottenNodes nodes;
  for (NodeId id = 2; id < 200'000; ++id) {
    nodes.add(node_of(id));
    nodes.find(2);  // stays new
  }
  CHECK(nodes.size() > 10'000);
  CHECK(nodes.size() * sizeof(ForgottenNodes::Node) < ForgottenNodes::kMaxBytes);
  CHECK(nodes.find(2) != nullptr);
  CHECK(nodes.find(3) == nullptr);
  CHECK(nodes.find(199'999) != nullptr);
  // Long paths in a container count.
  const auto before = nodes.size();
  nodes.add(node_of(1'000'000, "x", std::string(ForgottenNodes::kMaxBytes / 4, 'm')));
  CHECK(nodes.size() < before / 2 + before / 8);
  nodes.add(node_of(1'000'001, "x", std::string(ForgottenNodes::kMaxBytes, 'm')));
  CHECK(nodes.size() == 0);
}

}  // namespace
}  // namespace framefs::fs::forgotten_nodes_test

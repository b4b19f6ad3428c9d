#include "fs/tree/nodes/held_files.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::fs::held_files_test {
namespace {

HeldFiles::Object an_object() { return std::make_shared<const UniqueFd>(); }

std::shared_ptr<Node> node_of(std::uint64_t number) {
  return std::make_shared<Node>(
      number, NodeKey{.device = 1, .inode = number, .shown_as = ShownAs::itself, .member = {}});
}

// Nodes whose files have lost one of several names, each in its turn.
struct Links {
  std::shared_ptr<Node> add(bool is_open = false) {
    auto node = node_of(10 + nodes.size());
    if (is_open) node->state.with([](Node::State& state) { CHECK(state.handles.add(false)); });
    HeldFiles::hold(*node, an_object());
    HeldFiles::Dropped dropped;
    held.keep_as_link(node, dropped);
    nodes.push_back(node);
    return node;
  }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        nodes, [](const auto& node) { return HeldFiles::of(*node) != nullptr; }));
  }

  HeldFiles held;
  std::vector<std::shared_ptr<Node>> nodes;
};

TEST_CASE("held_files: a node has the descriptor that it was given last",
          "[fs][held_files][unit]") {
  const auto node = node_of(10);
  const auto one = an_object();
  const auto other = an_object();
  CHECK(HeldFiles::of(*node) == nullptr);
  CHECK(HeldFiles::release(*node) == nullptr);
  CHECK(HeldFiles::hold(*node, one) == nullptr);
  CHECK(HeldFiles::of(*node) == one);
  CHECK(HeldFiles::hold(*node, other) == one);
  CHECK(HeldFiles::release(*node) == other);
  CHECK(HeldFiles::of(*node) == nullptr);
}

TEST_CASE("held_files: of files with other names, the last ones and the open ones keep it",
          "[fs][held_files][unit]") {
  Links links;
  const auto first = links.add();
  const auto open = links.add(true);
  const auto second = links.add();
  while (links.nodes.size() < HeldFiles::kMaxLinks) links.add();
  CHECK(links.count() == HeldFiles::kMaxLinks);
  links.add();
  CHECK(HeldFiles::of(*first) == nullptr);
  CHECK(HeldFiles::of(*second) != nullptr);
  links.add();
  CHECK(HeldFiles::of(*second) == nullptr);
  CHECK(HeldFiles::of(*open) != nullptr);
  CHECK(links.count() == HeldFiles::kMaxLinks);
}

TEST_CASE("held_files: a file without a name keeps its descriptor", "[fs][held_files][unit]") {
  Links links;
  const auto link = links.add();
  HeldFiles::hold(*link, an_object());  // it has lost its last name
  const auto removed = node_of(5);
  HeldFiles::hold(*removed, an_object());
  while (links.nodes.size() < 2 * HeldFiles::kMaxLinks) links.add();
  CHECK(HeldFiles::of(*link) != nullptr);
  CHECK(HeldFiles::of(*removed) != nullptr);
}

TEST_CASE("held_files: a node without a descriptor takes no place among the last",
          "[fs][held_files][unit]") {
  Links links;
  const auto first = links.add();
  HeldFiles::Dropped dropped;
  for (std::size_t i = 0; i < 2 * HeldFiles::kMaxLinks; ++i) {
    links.held.keep_as_link(node_of(5), dropped);
  }
  CHECK(HeldFiles::of(*first) != nullptr);
  CHECK(dropped.empty());
}

}  // namespace
}  // namespace framefs::fs::held_files_test

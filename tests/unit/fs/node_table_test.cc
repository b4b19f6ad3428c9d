#include "fs/tree/nodes/node_table.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/support/threads.h"

namespace framefs::fs::node_table_test {
namespace {

const NodeKey kRoot{.device = 1, .inode = 2, .shown_as = ShownAs::itself, .member = {}};

NodeKey key_of(std::uint64_t inode, ShownAs shown_as = ShownAs::itself) {
  return {.device = 1, .inode = inode, .shown_as = shown_as, .member = {}};
}

std::shared_ptr<Node> root_of(const NodeTable& table) {
  auto root = table.find(kRootNode);
  REQUIRE(root);
  return *root;
}

bool knows(const NodeTable& table, NodeId id) {
  const auto node = table.find(id);
  if (!node) CHECK(node.error().sys == ESTALE);
  return node.has_value();
}

TEST_CASE("node_table: the root is there from the start and is never forgotten",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  CHECK(root_of(table)->key == kRoot);
  CHECK(table.path_of(*root_of(table)) == ".");
  table.forget(kRootNode, 1'000'000);
  CHECK(knows(table, kRootNode));
  CHECK_FALSE(knows(table, kRootNode + 1));
}

// Oracle: the kernel caches entries by the number of their directory.
TEST_CASE("node_table: a directory of another version is another node", "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto root = root_of(table);
  const auto key = key_of(10, ShownAs::container);
  const FileIdentity before{.device = 1, .inode = 10, .size = 100};
  const FileIdentity after{.device = 1, .inode = 10, .size = 200};
  const auto old_id = table.lookup(root, "old", key, before)->id;
  CHECK(table.lookup(root, "old", key, before)->id == old_id);
  const auto id = table.lookup(root, "new", key, after)->id;
  CHECK(id != old_id);
  CHECK(knows(table, old_id));
  CHECK(table.lookup(root, "new", key, after)->id == id);
  table.forget(old_id, 2);
  CHECK_FALSE(knows(table, old_id));
  CHECK_FALSE(table.recall(old_id));
  REQUIRE(table.find(key));
  CHECK(table.find(key)->id == id);
  table.forget(id, 2);
  CHECK(table.lookup(root, "new", key, after)->id == id);
}

TEST_CASE("node_table: a node lives for as many lookups as were counted",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto id = table.lookup(root_of(table), "x", key_of(10))->id;
  CHECK(table.lookup(root_of(table), "x", key_of(10))->id == id);
  CHECK(table.lookup(root_of(table), "x", key_of(10))->id == id);
  table.forget(id, 2);
  CHECK(knows(table, id));
  table.forget(id, 1);
  CHECK_FALSE(knows(table, id));
  // The id is used again for the same file alone.
  CHECK(table.lookup(root_of(table), "y", key_of(11))->id != id);
  CHECK(table.lookup(root_of(table), "x", key_of(10))->id == id);
  table.forget(id, 1000);  // more than there were lookups
  CHECK_FALSE(knows(table, id));
  table.forget(id, 1);  // the node no longer exists
}

// Oracle: the memory that malloc has given out.  A sanitizer has an allocator of its own, which is
// not asked; all other builds fail if a node takes more.
TEST_CASE("node_table: a node takes little memory", "[fs][node_table][unit]") {
  constexpr std::size_t kNodes = 20'000;
  constexpr std::size_t kMaxBytes = 250;
  const auto used = [] {
    const auto heap = ::mallinfo2();
    return heap.uordblks + heap.hblkhd;  // large tables are mappings of their own
  };
  NodeTable table(kRoot, ".");
  const auto root = root_of(table);
  const auto before = used();
  for (std::size_t i = 0; i < kNodes; ++i) {
    table.lookup(root, "a_name_of_usual_length_" + std::to_string(i),
                 key_of(10 + i, ShownAs::frame));
  }
  CHECK(used() - before < kNodes * kMaxBytes);
}

TEST_CASE("node_table: a forgotten node is recalled by its number", "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto error_of = [&](NodeId id) {
    const auto node = table.recall(id);
    return node ? 0 : node.error().sys;
  };
  const auto a = table.lookup(root_of(table), "a", key_of(10))->id;
  const auto b = table.lookup(*table.find(a), "b", key_of(11))->id;
  const auto c = table.lookup(*table.find(b), "c", key_of(12, ShownAs::frame))->id;
  for (const auto id : {c, b, a}) table.forget(id, 1);
  const auto node = table.recall(c);
  REQUIRE(node);
  CHECK((*node)->id == c);
  CHECK((*node)->key == key_of(12, ShownAs::frame));
  CHECK(table.path_of(**node) == "a/b/c");
  CHECK(table.parent_of(**node) == b);
  CHECK(*table.find(c) == *node);
  CHECK_FALSE(knows(table, b));  // the kernel has not asked for it
  CHECK(*table.recall(c) == *node);
  CHECK(table.lookup((*node), "x", key_of(12, ShownAs::frame)) == *node);
  table.forget(c, 2);
  CHECK(knows(table, c));
  table.forget(c, 1);
  CHECK_FALSE(knows(table, c));
  CHECK(*table.recall(kRootNode) == root_of(table));
  CHECK(table.parent_of(*root_of(table)) == kRootNode);
  CHECK(error_of(c + 1) == ESTALE);
  CHECK(error_of(0) == ESTALE);
}

TEST_CASE("node_table: a number is not given to another file with the same inode",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto root = root_of(table);
  // The file was removed through the mount.
  const auto removed = table.lookup(root, "x", key_of(10))->id;
  table.begin_removal({1, 10}, {root, "x"}, std::make_shared<const UniqueFd>());
  table.end_removal({1, 10}, {root, "x"}, NodeTable::Lost::one_name);
  CHECK_FALSE(table.recall(removed));
  table.forget(removed, 1);
  CHECK_FALSE(table.recall(removed));
  CHECK(table.lookup(root, "x", key_of(10))->id != removed);
  // The file was removed, or renamed, in SOURCE.
  const auto gone = table.lookup(root, "y", key_of(11))->id;
  table.forget(gone, 1);
  const auto fresh = table.lookup(root, "z", key_of(11))->id;
  CHECK(fresh != gone);
  CHECK_FALSE(table.recall(gone));
  table.forget(fresh, 1);
  CHECK(table.recall(fresh));
}

TEST_CASE("node_table: names of one file are one node, each way to show it is another",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto one = table.lookup(root_of(table), "one", key_of(10, ShownAs::frame));
  const auto other = table.lookup(root_of(table), "other", key_of(10, ShownAs::frame));
  const auto elsewhere = table.lookup(
      root_of(table), "x", {.device = 7, .inode = 10, .shown_as = ShownAs::frame, .member = {}});
  CHECK(one == other);
  CHECK(elsewhere != one);
  std::vector<NodeId> ids{one->id, elsewhere->id};
  for (const auto shown_as :
       {ShownAs::itself, ShownAs::array, ShownAs::npy, ShownAs::container, ShownAs::single_entry}) {
    ids.push_back(table.lookup(root_of(table), "x", key_of(10, shown_as))->id);
  }
  std::ranges::sort(ids);
  CHECK(std::ranges::adjacent_find(ids) == ids.end());
  CHECK(table.path_of(*one) == "other");  // its last known name
  table.forget(one->id, 1);
  CHECK(knows(table, one->id));
  table.forget(one->id, 1);
  CHECK_FALSE(knows(table, one->id));
  CHECK(std::ranges::count_if(ids, [&](NodeId id) { return knows(table, id); }) == 6);
}

TEST_CASE("node_table: views are of frames and arrays", "[fs][node_table][unit]") {
  CHECK(key_of(1, ShownAs::frame).has_view());
  CHECK(key_of(1, ShownAs::array).has_view());
  CHECK(key_of(1, ShownAs::npy).has_view());
  CHECK_FALSE(key_of(1, ShownAs::itself).has_view());
  CHECK_FALSE(key_of(1, ShownAs::single_entry).has_view());
}

TEST_CASE("node_table: paths follow the directories they lead through", "[fs][node_table][unit]") {
  NodeTable table(kRoot, "frame.b2");
  CHECK(table.path_of(*root_of(table)) == "frame.b2");
  const auto a = table.lookup(root_of(table), "a", key_of(10));
  const auto b = table.lookup(a, "b", key_of(11));
  const auto c = table.lookup(b, "c", key_of(12));
  CHECK(table.path_of(*a) == "a");
  CHECK(table.path_of(*c) == "a/b/c");
  // The directory has moved, and its content with it.
  table.lookup(root_of(table), "moved", key_of(11));
  CHECK(table.path_of(*c) == "moved/c");
  // Directories stay in the table while a node below them is known.
  table.forget(b->id, 2);
  CHECK_FALSE(knows(table, b->id));
  CHECK(table.path_of(*c) == "moved/c");
}

// A bind mount or a snapshot can show a directory inside itself.  Lookups during renames can have
// the same effect.  Oracle: paths stay unchanged and finite.
TEST_CASE("node_table: a directory that shows up inside itself makes no loop",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto a = table.lookup(root_of(table), "a", key_of(10));
  const auto b = table.lookup(a, "b", key_of(11));
  CHECK(table.lookup(a, "again", key_of(10)) == a);
  CHECK(table.lookup(b, "again", key_of(10)) == a);
  CHECK(table.lookup(b, "again", kRoot) == root_of(table));
  test::finish_in_time("a path of a loop", [&] {
    if (table.path_of(*a) != "a" || table.path_of(*b) != "a/b") std::abort();
  });
  table.forget(a->id, 2);
  CHECK(knows(table, a->id));  // each lookup counts
  table.forget(a->id, 1);
  CHECK_FALSE(knows(table, a->id));
}

// Oracle: in the end all lookups are forgotten, so that only the root is left.
TEST_CASE("node_table: lookups and forgets of many threads add up", "[fs][node_table][race]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  NodeTable table(kRoot, ".");
  constexpr std::uint64_t kFiles = 20;
  std::atomic<int> wrong{0};
  std::vector<std::vector<NodeId>> seen(8);
  const auto root = root_of(table);
  test::on_threads(seen.size(), [&](std::size_t thread) {
    std::mt19937 random(seed + static_cast<std::uint32_t>(thread));
    std::vector<NodeId> mine;
    for (int round = 0; round < 2000; ++round) {
      if (mine.empty() || random() % 2 == 0) {
        const std::uint64_t inode = 10 + random() % kFiles;
        const auto node = table.lookup(root, std::to_string(inode), key_of(inode));
        if (node->key != key_of(inode)) wrong.fetch_add(1);
        mine.push_back(node->id);
        seen[thread].push_back(node->id);
      } else {
        std::swap(mine[random() % mine.size()], mine.back());
        // A node with a remaining lookup exists, whatever other threads do.
        const auto node = table.find(mine.back());
        if (!node || table.path_of(**node) != std::to_string((*node)->key.inode))
          wrong.fetch_add(1);
        table.forget(mine.back(), 1);
        mine.pop_back();
      }
    }
    for (const auto id : mine) table.forget(id, 1);
  });
  CHECK(wrong == 0);
  for (const auto& ids : seen) {
    CHECK(std::ranges::none_of(ids, [&](NodeId id) { return table.find(id).has_value(); }));
  }
}

TEST_CASE("node_table: a renamed file is moved in all ways in which it is shown",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto root = root_of(table);
  const auto folder = table.lookup(root, "d", key_of(20));
  const auto array = table.lookup(root, "x.b2nd", key_of(10, ShownAs::array));
  const auto npy = table.lookup(root, "x.b2nd", key_of(10, ShownAs::npy));
  const auto other = table.lookup(root, "x.b2nd", key_of(11));
  table.move({1, 10}, {root, "x.b2nd"}, {folder, "y.b2nd"});
  CHECK(table.path_of(*array) == "d/y.b2nd");
  CHECK(table.path_of(*npy) == "d/y.b2nd");
  CHECK(table.path_of(*other) == "x.b2nd");
  // The file was seen under another of its names.
  table.move({1, 10}, {root, "x.b2nd"}, {root, "z"});
  CHECK(table.path_of(*npy) == "d/y.b2nd");
  table.move({1, 20}, {root, "d"}, {root, "e"});
  CHECK(table.path_of(*npy) == "e/y.b2nd");
}

TEST_CASE("node_table: a file that loses its name is kept until it is seen under another",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto root = root_of(table);
  const auto node = table.lookup(root, "x", key_of(10));
  const auto object = std::make_shared<const UniqueFd>();
  const auto remove = [&](const std::string& name, NodeTable::Lost lost) {
    table.begin_removal({1, 10}, {root, name}, object);
    table.end_removal({1, 10}, {root, name}, lost);
  };
  remove("y", NodeTable::Lost::one_name);
  CHECK(table.held(*node) == nullptr);  // it was seen under another name
  remove("x", NodeTable::Lost::one_name);
  CHECK(table.held(*node) == object);
  table.lookup(root, "x", key_of(10));
  CHECK(table.held(*node) == object);
  table.lookup(root, "z", key_of(10));
  CHECK(table.held(*node) == nullptr);
  CHECK(object.use_count() == 1);
  remove("z", NodeTable::Lost::nothing);
  CHECK(object.use_count() == 1);
  CHECK(table.path_of(*node) == "z");
}

// Files that lose the name under which they were last seen, each in its turn.
struct LosingNames {
  void remove_next(NodeTable::Lost lost, bool is_open = false) {
    const auto inode = 10 + nodes.size();
    const auto name = std::to_string(inode);
    nodes.push_back(table.lookup(root, name, key_of(inode)));
    if (is_open)
      nodes.back()->state.with([](Node::State& state) { CHECK(state.handles.add(false)); });
    table.begin_removal({1, inode}, {root, name}, std::make_shared<const UniqueFd>());
    table.end_removal({1, inode}, {root, name}, lost);
  }
  [[nodiscard]] bool is_held(const std::shared_ptr<Node>& node) const {
    return table.held(*node) != nullptr;
  }
  [[nodiscard]] std::ptrdiff_t count_held() const {
    return std::ranges::count_if(nodes, [&](const auto& node) { return is_held(node); });
  }

  NodeTable table{kRoot, "."};
  const std::shared_ptr<Node> root = root_of(table);
  std::vector<std::shared_ptr<Node>> nodes;
};

TEST_CASE("node_table: few descriptors are kept of files that have other names",
          "[fs][node_table][unit]") {
  constexpr auto kMost = static_cast<std::ptrdiff_t>(HeldFiles::kMaxLinks);
  LosingNames files;
  auto& [table, root, nodes] = files;
  files.remove_next(NodeTable::Lost::all_names);
  files.remove_next(NodeTable::Lost::one_name, true);
  files.remove_next(NodeTable::Lost::one_name);
  // It then loses its last name, too.
  files.remove_next(NodeTable::Lost::one_name);
  table.lookup(root, "last", key_of(13));
  table.begin_removal({1, 13}, {root, "last"}, std::make_shared<const UniqueFd>());
  table.end_removal({1, 13}, {root, "last"}, NodeTable::Lost::all_names);
  while (std::ssize(nodes) < 10 + kMost) files.remove_next(NodeTable::Lost::one_name);
  CHECK(files.is_held(nodes[0]));  // has no other name
  CHECK(files.is_held(nodes[1]));  // is open
  CHECK_FALSE(files.is_held(nodes[2]));
  CHECK(files.is_held(nodes[3]));  // has no name any more
  CHECK(files.is_held(nodes.back()));
  // Beside the limit: the open one, and two without a name.
  CHECK(files.count_held() <= kMost + 3);
  // A name that is looked up leads to the file again.
  table.lookup(root, "other", key_of(12), std::nullopt, std::nullopt, table.now());
  CHECK(table.path_of(*nodes[2]) == "other");
}

TEST_CASE("node_table: descriptors that were kept of open files go after these were closed",
          "[fs][node_table][unit]") {
  constexpr auto kMost = static_cast<std::ptrdiff_t>(HeldFiles::kMaxLinks);
  LosingNames files;
  while (std::ssize(files.nodes) < kMost + 500) files.remove_next(NodeTable::Lost::one_name, true);
  CHECK(files.count_held() == kMost + 500);
  for (const auto& node : files.nodes) {
    node->state.with([](Node::State& state) { CHECK(state.handles.remove(false, false)); });
  }
  for (int closed = 0; closed < 500; ++closed) files.remove_next(NodeTable::Lost::one_name);
  CHECK(files.count_held() == kMost);
}

TEST_CASE("node_table: a lookup that a change of names has overtaken moves no node",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto root = root_of(table);
  const NodeTable::Place kept{root, "kept"};
  const NodeTable::Place gone{root, "gone"};
  const auto object = std::make_shared<const UniqueFd>();
  const auto node = table.lookup(root, "kept", key_of(10));
  const auto look_up = [&](const std::string& name, NodeTable::Moment since) {
    return table.lookup(root, name, key_of(10), std::nullopt, std::nullopt, since);
  };

  SECTION("a name that has been removed") {
    const auto before = table.now();
    table.begin_removal({1, 10}, gone, object);
    const auto meanwhile = table.now();
    CHECK(look_up("gone", meanwhile) == node);
    CHECK(table.path_of(*node) == "kept");
    table.end_removal({1, 10}, gone, NodeTable::Lost::one_name);
    for (const auto since : {before, meanwhile}) {
      CHECK(look_up("gone", since) == node);
      CHECK(table.path_of(*node) == "kept");
    }
    look_up("again", table.now());
    CHECK(table.path_of(*node) == "again");
  }
  SECTION("a removal beside another one") {
    table.begin_removal({1, 10}, gone, object);
    table.begin_removal({1, 10}, {root, "other"}, object);
    table.end_removal({1, 10}, {root, "other"}, NodeTable::Lost::one_name);
    look_up("gone", table.now());
    CHECK(table.path_of(*node) == "kept");
    table.end_removal({1, 10}, gone, NodeTable::Lost::one_name);
  }
  SECTION("a file that is kept by its descriptor") {
    const auto before = table.now();
    table.begin_removal({1, 10}, kept, object);
    table.end_removal({1, 10}, kept, NodeTable::Lost::one_name);
    look_up("gone", before);
    CHECK(table.held(*node) == object);
  }
  SECTION("a name that has been renamed") {
    const auto before = table.now();
    table.move({1, 10}, {root, "before"}, {root, "after"});
    look_up("before", before);
    CHECK(table.path_of(*node) == "kept");
    look_up("after", table.now());
    CHECK(table.path_of(*node) == "after");
  }
  SECTION("a node that is new") {
    const auto before = table.now();
    table.begin_removal({1, 11}, gone, object);
    table.end_removal({1, 11}, gone, NodeTable::Lost::one_name);
    const auto fresh = table.lookup(root, "fresh", key_of(11));
    table.lookup(root, "gone", key_of(11), std::nullopt, std::nullopt, before);
    CHECK(table.path_of(*fresh) == "fresh");
  }
  SECTION("changes of other files do not matter") {
    const auto before = table.now();
    table.begin_removal({1, 11}, gone, object);
    look_up("again", before);
    CHECK(table.path_of(*node) == "again");
    table.end_removal({1, 11}, gone, NodeTable::Lost::one_name);
  }
}

TEST_CASE("node_table: a number leads to the file that takes the place of its file",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto root = root_of(table);
  const auto frame = key_of(10, ShownAs::frame);
  const auto array = key_of(11, ShownAs::npy);
  const auto before = table.lookup(root, "x.npy.b2frame", frame);
  CHECK(table.lookup(root, "x.npy.b2frame", frame) == before);
  table.replace(frame, array, {root, "x.b2nd"});
  const auto after = table.find(before->id);
  REQUIRE(after);
  CHECK((*after)->key == array);
  CHECK(table.path_of(**after) == "x.b2nd");
  CHECK(table.find(array) == *after);
  CHECK_FALSE(table.find(frame));
  CHECK(table.lookup(root, "x.b2nd", array) == *after);
  table.forget(before->id, 2);  // the lookups of both count
  CHECK(knows(table, before->id));
  table.forget(before->id, 1);
  CHECK_FALSE(knows(table, before->id));
  table.replace(frame, array, {root, "x.b2nd"});  // no node
  CHECK_FALSE(table.find(array));
}

TEST_CASE("node_table: an exported node has the number of its inode", "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto root = root_of(table);
  const auto key = key_of(10, ShownAs::frame);
  const auto node = table.lookup(root, "x", key, {}, 7);
  CHECK(node->is_exported());
  CHECK(node->id == exported_number(key));
  CHECK(node->generation == 7);
  // Another file with the inode: a new node of that number, which counts the lookups of both.
  const auto next = table.lookup(root, "y", key, {}, 8);
  CHECK(next != node);
  CHECK(next->id == node->id);
  CHECK(next->generation == 8);
  table.forget(next->id, 1);
  CHECK(table.find(next->id) == next);
  table.forget(next->id, 1);
  CHECK_FALSE(knows(table, next->id));
  // The table remembers the generation, too.
  const auto recalled = table.recall(next->id);
  REQUIRE(recalled);
  CHECK((*recalled)->generation == 8);
  CHECK(table.path_of(**recalled) == "y");
}

TEST_CASE("node_table: a file that is found by its handle has a place once it is looked up",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto key = key_of(10, ShownAs::frame);
  const auto adopted = table.adopt(key, 7, {});
  REQUIRE(adopted);
  CHECK(table.path_of(**adopted).empty());
  CHECK(table.parent_of(**adopted) == kRootNode);
  CHECK(table.adopt(key, 7, {}) == *adopted);
  CHECK(table.lookup(root_of(table), "x", key, {}, 7) == *adopted);
  CHECK(table.path_of(**adopted) == "x");
  table.forget((*adopted)->id, 3);
  CHECK_FALSE(knows(table, (*adopted)->id));
  // Without a place it is not remembered.
  const auto again = table.adopt(key, 8, {});
  REQUIRE(again);
  table.forget((*again)->id, 1);
  CHECK_FALSE(table.recall((*again)->id));
}

TEST_CASE("node_table: a file that is found by its handle gets the directories above it",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto a = key_of(5);
  const auto b = key_of(6);
  const auto key = key_of(10, ShownAs::frame);
  const auto known = table.lookup(root_of(table), "a", a, {}, 1);
  const auto adopted = table.adopt(key, 7, {{a, 1, "a"}, {b, 2, "b"}, {key, 7, "x"}});
  REQUIRE(adopted);
  CHECK(table.path_of(**adopted) == "a/b/x");
  CHECK(table.parent_of(**adopted) == exported_number(b));
  CHECK_FALSE(knows(table, *exported_number(b)));  // the kernel does not know it
  const auto above = table.adopt(b, 2, {{a, 1, "a"}, {b, 2, "b"}});
  REQUIRE(above);
  CHECK(table.place_of(**above).parent == known);
}

TEST_CASE("node_table: an exported number goes back to the file with its inode",
          "[fs][node_table][unit]") {
  NodeTable table(kRoot, ".");
  const auto root = root_of(table);
  const auto frame = key_of(10, ShownAs::frame);
  const auto array = key_of(11, ShownAs::npy);
  const auto id = table.lookup(root, "x.npy.b2frame", frame, {}, 7)->id;
  table.replace(frame, array, {root, "x.b2nd"});
  // The kernel has the number with the generation of the frame.
  const auto now = table.lookup(root, "x.b2nd", array, {}, 9);
  CHECK(now->id == id);
  CHECK(now->generation == 7);
  CHECK_FALSE(now->is_exported());
  // Another file gets the frame's inode meanwhile: its number lasts as long as the mount.
  const auto other = table.lookup(root, "y", frame, {}, 8);
  CHECK(other->id != id);
  CHECK_FALSE(other->generation);
  CHECK_FALSE(table.adopt(frame, 8, {}));
  // Nor is the frame's handle one of the array, once the kernel has forgotten the array.
  table.forget(id, 2);
  CHECK_FALSE(table.recall(id));
  CHECK(table.lookup(root, "x.b2nd", array, {}, 9)->id == exported_number(array));
}

}  // namespace
}  // namespace framefs::fs::node_table_test

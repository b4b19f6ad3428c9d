#include "codec/container/container_tree.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"

namespace framefs::codec::container_tree_test {
namespace {

ContainerTree make(const std::vector<std::string>& paths) {
  std::vector<ContainerTree::Leaf> leaves;
  leaves.reserve(paths.size());
  for (const auto& path : paths) leaves.push_back({path, leaves.size()});
  return ContainerTree::make(std::move(leaves), {}).value();
}

std::string path_of(const ContainerTree& tree, ContainerTree::NodeId id) {
  if (id == ContainerTree::kRoot) return {};
  const auto above = path_of(tree, tree.parent(id));
  return (above.empty() ? "" : above + '/') + std::string(tree.name(id));
}

// Every node in one line: "dir/" or "dir/file=payload".
std::vector<std::string> listing(const ContainerTree& tree, ContainerTree::NodeId directory = 0) {
  std::vector<std::string> out;
  const auto [first, count] = tree.children(directory);
  for (auto id = first; id < first + count; ++id) {
    if (tree.is_directory(id)) {
      out.push_back(path_of(tree, id) + '/');
      for (auto& line : listing(tree, id)) out.push_back(std::move(line));
    } else {
      out.push_back(path_of(tree, id) + '=' + std::to_string(tree.payload(id)));
    }
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST_CASE("container_tree: no paths make an empty root", "[codec][container_tree][unit]") {
  const auto tree = make({});
  CHECK(tree.size() == 1);
  CHECK(tree.is_directory(ContainerTree::kRoot));
  CHECK(tree.children(ContainerTree::kRoot).count == 0);
  CHECK(tree.name(ContainerTree::kRoot).empty());
  CHECK(tree.find("") == ContainerTree::kRoot);
  CHECK_FALSE(tree.find("a"));
}

TEST_CASE("container_tree: directories are implied, entries sorted by name",
          "[codec][container_tree][unit]") {
  const auto tree = make({"b/z", "a", "b/y/x", "B", "b-c", "b/y/w"});
  CHECK(listing(tree) == Lines{"B=3", "a=1", "b/", "b/y/", "b/y/w=5", "b/y/x=2", "b/z=0", "b-c=4"});
  CHECK(tree.conflicts().empty());
}

TEST_CASE("container_tree: names with bytes above ASCII sort as bytes",
          "[codec][container_tree][unit]") {
  CHECK(listing(make({"\xc3\xa9", "z", "\xff/a"})) ==
        Lines{"z=1", "\xc3\xa9=0", "\xff/", "\xff/a=2"});
}

TEST_CASE("container_tree: a name that is both file and directory is the directory",
          "[codec][container_tree][unit]") {
  const auto tree = make({"a", "a/b", "c/d/e", "c/d", "c"});
  CHECK(listing(tree) == Lines{"a/", "a/b=1", "c/", "c/d/", "c/d/e=2"});
  std::map<std::string, std::size_t> conflicts;
  for (const auto& [directory, payload] : tree.conflicts()) {
    conflicts[path_of(tree, directory)] = payload;
  }
  CHECK(conflicts == std::map<std::string, std::size_t>{{"a", 0}, {"c", 4}, {"c/d", 3}});
}

TEST_CASE("container_tree: of leaves with one path the last counts",
          "[codec][container_tree][unit]") {
  CHECK(listing(make({"a", "b", "a"})) == Lines{"a=2", "b=1"});
}

TEST_CASE("container_tree: paths are found, others not", "[codec][container_tree][unit]") {
  const auto tree = make({"a/b/c", "a/bb", "d"});
  for (const auto* path : {"a", "a/b", "a/b/c", "a/bb", "d"}) {
    INFO(path);
    CHECK(path_of(tree, tree.find(path).value_or(ContainerTree::kRoot)) == path);
  }
  for (const auto* path : {"b", "a/", "/a", "a//b", "a/b/", "a/b/c/", "a/b/c/d", "d/e", "a/bbb",
                           "A", "a/c", "/", "..", "dd"}) {
    INFO(path);
    CHECK_FALSE(tree.find(path));
  }
}

TEST_CASE("container_tree: more nodes than the limit are refused",
          "[codec][container_tree][corrupt]") {
  const std::vector<ContainerTree::Leaf> leaves = {{"a/b/c", 0}, {"d", 1}};
  CHECK(ContainerTree::make(leaves, {.tree_nodes = 5}));
  CHECK(test::outcome(ContainerTree::make(leaves, {.tree_nodes = 4})) ==
        "over limit: container tree at 0");
  // Short paths that imply many directories.
  std::vector<ContainerTree::Leaf> deep;
  for (char c = 'a'; c <= 'z'; ++c) {
    std::string path(1, c);
    while (path.size() + 2 <= 4095) path += "/d";
    deep.push_back({path, 0});
  }
  CHECK(ContainerTree::make(deep, {}).value().size() == 26 * 2048 + 1);
  CHECK(test::outcome(ContainerTree::make(deep, {.tree_nodes = 10000})) ==
        "over limit: container tree at 0");
}

// Oracle: sets of paths, built prefix by prefix.
TEST_CASE("container_tree: random paths make the tree of their prefixes",
          "[codec][container_tree][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> paths(random() % 30);
    for (auto& path : paths) {
      const auto depth = random() % 4;
      path = "abc"[random() % 3];
      for (std::size_t i = 0; i < depth; ++i)
        path += std::string(random() % 4 == 0 ? "-" : "/") + "abc"[random() % 3];
    }
    std::set<std::string> directories;
    std::map<std::string, std::size_t> files;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      files[paths[i]] = i;
      for (auto at = paths[i].find('/'); at != std::string::npos; at = paths[i].find('/', at + 1)) {
        directories.insert(paths[i].substr(0, at));
      }
    }
    std::set<std::string> expect;
    std::size_t conflicts = 0;
    for (const auto& directory : directories) expect.insert(directory + '/');
    for (const auto& [path, payload] : files) {
      if (directories.contains(path)) {
        ++conflicts;
      } else {
        expect.insert(path + '=' + std::to_string(payload));
      }
    }
    const auto tree = make(paths);
    const auto lines = listing(tree);
    REQUIRE(std::set<std::string>(lines.begin(), lines.end()) == expect);
    REQUIRE(lines.size() == expect.size());
    REQUIRE(tree.conflicts().size() == conflicts);
    REQUIRE(tree.size() == expect.size() + 1);
    for (const auto& directory : directories) REQUIRE(tree.find(directory));
  }
}

}  // namespace
}  // namespace framefs::codec::container_tree_test

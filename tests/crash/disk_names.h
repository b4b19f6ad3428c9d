#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/crash/disk_file.h"

namespace framefs::test {

// The names in a folder on a disk, and the names that remain after a loss of power.
//
// With a journal, changes become durable in the order in which they were made, so that a prefix of
// the changes survives.  Without a journal, any of them may survive.
class DiskNames {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  // The names in each directory.
  using Tree = std::map<Node, std::map<std::string, Node>>;

  // A name in a directory.
  struct Place {
    Node directory = 0;
    std::string name;
    auto operator<=>(const Place&) const = default;
  };
  // Makes a name refer to a node, or removes it; if `only_if` is set, only if the name refers to
  // that node.
  struct Setting {
    Place place;
    std::optional<Node> node;
    std::optional<Node> only_if;
  };

  explicit DiskNames(bool journal) : journal_(journal) {}

  // Adds names that existed before.
  void add_durable(const Place& place, Node node);
  void add_directory(Node node);

  // Changes names atomically.
  void change(std::uint64_t moment, std::vector<Setting> settings);
  // Makes the changes before a moment durable: all of them; those in one directory; those of one
  // node and of the directories above it.
  void sync_all(std::uint64_t moment);
  void sync_directory(Node directory, std::uint64_t moment);
  void sync_node(Node node, std::uint64_t moment);

  // The tree with all changes.
  [[nodiscard]] const Tree& tree() const { return tree_; }
  [[nodiscard]] std::optional<Place> place_of(const std::string& path) const;
  [[nodiscard]] std::optional<Node> find(const std::string& path) const;
  [[nodiscard]] Tree tree_after(Loss loss, std::uint64_t seed) const;

 private:
  struct Change {
    std::uint64_t moment = 0;
    std::vector<Setting> settings;
  };
  template <class Wanted>
  void sync(std::uint64_t moment, const Wanted& wanted);
  // Applies a change to the names for which the tree has nothing newer.
  void make(Tree& tree, const Change& change) const;

  const bool journal_;
  Tree durable_{{kRoot, {}}};
  Tree tree_{{kRoot, {}}};
  std::vector<Change> pending_;
  std::map<Place, std::uint64_t> durable_since_;  // the moments of the names in durable_
};

}  // namespace framefs::test

#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/crash/disk_file.h"

namespace framefs::test {

// The names in a folder on a disk, and what a loss of power leaves of those that are not durable.
//
// With a journal, changes become durable in the order in which they were made, and of those that are not the
// first so many survive.  Without one, any of them may.
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
  // That a name comes to stand for a node, or for none; `only_if` it stands for that one.
  struct Setting {
    Place place;
    std::optional<Node> node;
    std::optional<Node> only_if;
  };

  explicit DiskNames(bool journal) : journal_(journal) {}

  // Of names that were there before.
  void add_durable(const Place& place, Node node);
  void add_directory(Node node);

  // Changes names at once.
  void change(std::uint64_t moment, std::vector<Setting> settings);
  // Makes durable what was changed before a moment: everywhere; in one directory; of one file and the
  // directories that it is in.
  void sync_all(std::uint64_t moment);
  void sync_directory(Node directory, std::uint64_t moment);
  void sync_node(Node node, std::uint64_t moment);

  // With all changes.
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
  // Changes the names for which the tree has nothing newer.
  void make(Tree& tree, const Change& change) const;

  const bool journal_;
  Tree durable_{{kRoot, {}}};
  Tree tree_{{kRoot, {}}};
  std::vector<Change> pending_;
  std::map<Place, std::uint64_t> durable_since_;  // the moments of durable_
};

}  // namespace framefs::test

#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/tree/nodes/node.h"

namespace framefs::fs {

// The descriptors of files that have lost the name under which their nodes were last seen.
//
// A file that has lost its last name is reached by its descriptor only, as long as the kernel knows
// the node.  One that has other names needs it for a while: the kernel finds the file again by one
// of these.  As a tree of hard links would take a descriptor for each file, of these files only the
// last kMaxLinks keep it, and those that are open.
//
// Threads: one at a time; all functions may change or read nodes of a table under its lock.
class HeldFiles {
 public:
  using Object = std::shared_ptr<const UniqueFd>;  // an O_PATH descriptor
  // Objects that nodes gave up.  Lifetime: destroyed after the lock, because a close may take long.
  using Dropped = std::vector<std::shared_ptr<const void>>;
  static constexpr std::size_t kMaxLinks = 1024;

  // The descriptor of a node; null for one that has lost no name.
  static Object of(const Node& node) noexcept;
  // Gives a node the descriptor `object`, which is not null.  Returns the one that it had.
  static Object hold(Node& node, Object object);
  // Takes the descriptor from a node.  Returns it.
  static Object release(Node& node) noexcept;

  // To be called if the file of a node has other names: if the node has a descriptor, it keeps that
  // as one of the last.
  void keep_as_link(const std::shared_ptr<Node>& node, Dropped& dropped);

 private:
  void release_oldest(Dropped& dropped);

  std::deque<std::weak_ptr<Node>> links_;  // the oldest first
};

}  // namespace framefs::fs

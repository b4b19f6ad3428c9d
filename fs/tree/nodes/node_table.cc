#include "fs/tree/nodes/node_table.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/core/resources/heap.h"

namespace framefs::fs {
namespace {

// The memory for a node, its name, and its places in the tables.
constexpr std::size_t kBytesOfNode = sizeof(Node) + 96;

}  // namespace

NodeTable::NodeTable(const NodeKey& root, std::string root_path)
    : root_path_(std::move(root_path)) {
  state_.with([&](State& state) {
    auto node = std::make_shared<Node>(kRootNode, root);
    node->lookups_ = 1;  // the kernel never forgets the root
    state.known.add(std::move(node));
  });
}

std::shared_ptr<Node> NodeTable::root() const {
  return state_.with([](const State& state) { return state.known.find(kRootNode); });
}

Result<std::shared_ptr<Node>> NodeTable::find(NodeId id) const {
  auto node = state_.with([&](const State& state) { return state.known.find(id); });
  if (!node) return system_error_of(ESTALE, "lookup");
  return node;
}

NodeTable::Moment NodeTable::now() const {
  return state_.with([](const State& state) { return state.now; });
}

std::optional<FileIdentity> NodeTable::version_of(const Node& node) {
  return node.rare_ ? node.rare_->version : std::nullopt;
}

// Notes a change of the file's names.  Returns its nodes that were last seen at `place`.
NodeIndex::Nodes NodeTable::change_names(State& state, const FileKey& file, const Place& place) {
  ++state.now;
  auto nodes = state.known.of(file);
  for (const auto& node : nodes) node->names_changed_at_ = state.now;
  std::erase_if(nodes, [&](const auto& node) {
    return !NodePath::ends_with(*node, place.parent, place.name);
  });
  return nodes;
}

void NodeTable::move(const FileKey& file, const Place& from, const Place& to) {
  std::vector<std::shared_ptr<Node>> old_parents;  // released after the lock
  state_.with([&](State& state) {
    for (const auto& node : change_names(state, file, from)) {
      old_parents.push_back(NodePath::put(*node, to.parent, to.name));
    }
  });
}

void NodeTable::begin_removal(const FileKey& file, const Place& place,
                              const std::shared_ptr<const UniqueFd>& object) {
  HeldFiles::Dropped dropped;  // destroyed after the lock
  state_.with([&](State& state) {
    ++state.removals[file];
    for (const auto& node : change_names(state, file, place)) {
      dropped.push_back(HeldFiles::hold(*node, object));
    }
  });
}

void NodeTable::end_removal(const FileKey& file, const Place& place, Lost lost) {
  HeldFiles::Dropped dropped;  // destroyed after the lock
  state_.with([&](State& state) {
    const auto under_way = state.removals.find(file);
    if (--under_way->second == 0) state.removals.erase(under_way);
    for (const auto& node : change_names(state, file, place)) {
      if (lost == Lost::nothing) dropped.push_back(HeldFiles::release(*node));
      if (lost == Lost::one_name) state.held.keep_as_link(node, dropped);
    }
  });
}

void NodeTable::replace(const NodeKey& from, const NodeKey& to, const Place& place) {
  std::shared_ptr<Node> dropped;  // destroyed after the lock
  state_.with([&](State& state) {
    dropped = state.known.find(from);
    if (!dropped) return;
    auto node = std::make_shared<Node>(dropped->id, to, dropped->generation);
    NodePath::put(*node, place.parent, place.name);
    node->lookups_ = dropped->lookups_;
    state.known.add(std::move(node));
  });
}

void NodeTable::detach(const Node& node) {
  state_.with([&](State& state) { state.known.release_key(node); });
}

std::shared_ptr<const UniqueFd> NodeTable::held(const Node& node) const {
  return state_.with([&](const State&) { return HeldFiles::of(node); });
}

NodeTable::Place NodeTable::place_of(const Node& node) const {
  return state_.with([&](const State&) { return Place{node.parent_, node.name_.str()}; });
}

std::shared_ptr<Node> NodeTable::find(const NodeKey& key) const {
  return state_.with([&](const State& state) { return state.known.find(key); });
}

// Enters a new node of the key, which replaces an earlier version.  `number` is its number, unless
// it gets an exported one.
std::shared_ptr<Node> NodeTable::enter(State& state, const NodeKey& key, NodeId number,
                                       std::optional<std::uint32_t> generation,
                                       std::shared_ptr<Node>& dropped) {
  const auto exported = generation ? exported_number(key) : std::nullopt;
  const auto taken = exported ? state.known.find(*exported) : nullptr;
  // replace() may have given the number to another file, before this one got the inode.
  const bool is_free = !taken || taken->key == key;
  auto node = exported && is_free ? std::make_shared<Node>(*exported, key, generation)
                                  : std::make_shared<Node>(number, key);
  node->names_changed_at_ = state.now;  // names of the file may have gone before
  if (taken && is_free) {
    node->lookups_ = taken->lookups_;  // the kernel forgets both under one number
    dropped = taken;
  }
  state.known.add(node);
  state.forgotten.remove(node->id);
  return node;
}

std::shared_ptr<Node> NodeTable::lookup(const std::shared_ptr<Node>& parent,
                                        const std::string& name, const NodeKey& key,
                                        const std::optional<FileIdentity>& version,
                                        std::optional<std::uint32_t> generation, Moment since) {
  std::shared_ptr<Node> replaced;  // destroyed after the lock, as the next one
  std::shared_ptr<const UniqueFd> dropped;
  return state_.with([&](State& state) {
    auto node = state.known.find(key);
    const bool may_be_gone =
        node && (since < node->names_changed_at_ || state.removals.contains(file_key(*node)));
    if (!node) {
      const auto before = state.forgotten.take(key, parent->id, name);
      node = enter(state, key, before ? *before : state.next++, generation, replaced);
    } else if ((version && version_of(*node).value_or(*version) != *version) ||
               (node->is_exported() && generation && *node->generation != *generation)) {
      node = enter(state, key, state.next++, generation, replaced);
    }
    if (version) node->rare().version = version;
    // A file may have several names, or may have been moved: the node takes the latest place.  A
    // node never moves below itself, where a bind mount or snapshot shows a directory inside
    // itself: the kernel refuses such a loop when it looks the name up.
    const bool has_place = node->parent_ || HeldFiles::of(*node);
    if (node->id != kRootNode && !(may_be_gone && has_place) &&
        !NodePath::leads_through(*node, *parent)) {
      // A node that was just found under the name that it is losing keeps its descriptor.
      if (!NodePath::ends_with(*node, parent, name)) dropped = HeldFiles::release(*node);
      NodePath::put(*node, parent, name);
    }
    ++node->lookups_;
    return node;
  });
}

// The node of that number as it was when it was forgotten, with new objects for those of its
// parents that the kernel has forgotten as well.  Null if one of them is not remembered.
std::shared_ptr<Node> NodeTable::remembered(State& state, NodeId id) {
  std::vector<std::pair<std::shared_ptr<Node>, std::string>> chain;  // from the node upwards
  std::shared_ptr<Node> parent;
  while (!parent) {
    if (auto live = state.known.find(id)) {
      parent = std::move(live);
      continue;
    }
    const auto* const known = state.forgotten.find(id);
    // A chain that is longer than the list would be a loop.
    if (known == nullptr || chain.size() > state.forgotten.size()) return nullptr;
    chain.emplace_back(std::make_shared<Node>(id, known->key, known->generation), known->name);
    id = known->parent;
  }
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    NodePath::put(*at->first, std::exchange(parent, at->first), at->second);
  }
  return parent;
}

Result<std::shared_ptr<Node>> NodeTable::recall(NodeId id) {
  auto node = state_.with([&](State& state) {
    auto found = remembered(state, id);
    // A file that has lost its name is forgotten for good; the kernel's FORGET may be on its way.
    if (!found || HeldFiles::of(*found)) return std::shared_ptr<Node>();
    if (state.known.restore(found)) {
      found->names_changed_at_ = state.now;
      state.forgotten.remove(id);
    }
    ++found->lookups_;
    return found;
  });
  if (!node) return system_error_of(ESTALE, "lookup");
  return node;
}

// The node of `key` that the kernel knows, unless it belongs to a file of another generation.
std::shared_ptr<Node> NodeTable::live(const State& state, const NodeKey& key,
                                      std::uint32_t generation) {
  const auto found = state.known.find(key);
  if (!found) return nullptr;
  return found->id == kRootNode || found->generation == generation ? found : nullptr;
}

// The directory that contains the last step of `path`; the root for an empty path.  As in
// remembered(), there are new objects for the steps that the kernel does not know.  Null if such a
// step can have no number.
std::shared_ptr<Node> NodeTable::directory_above(const State& state,
                                                 const std::vector<Step>& path) {
  auto directory = state.known.find(kRootNode);
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const auto& step = path[i];
    auto next = live(state, step.key, step.generation);
    if (!next) {
      const auto number = exported_number(step.key);
      if (!number) return nullptr;
      next = std::make_shared<Node>(*number, step.key, step.generation);
      NodePath::put(*next, directory, step.name);
    }
    directory = std::move(next);
  }
  return directory;
}

Result<std::shared_ptr<Node>> NodeTable::adopt(const NodeKey& key, std::uint32_t generation,
                                               const std::vector<Step>& path) {
  std::shared_ptr<Node> dropped;  // destroyed after the lock
  auto node = state_.with([&](State& state) -> std::shared_ptr<Node> {
    auto found = live(state, key, generation);
    const auto number = exported_number(key);
    const auto taken = number ? state.known.find(*number) : nullptr;
    const bool is_free = !taken || taken->key == key;
    if (!number || !is_free || (found && !found->is_exported())) return nullptr;
    if (!found) {
      auto parent = directory_above(state, path);
      if (!parent) return nullptr;
      found = enter(state, key, *number, generation, dropped);
      if (!path.empty()) NodePath::put(*found, std::move(parent), path.back().name);
    }
    ++found->lookups_;
    return found;
  });
  if (!node) return system_error_of(ESTALE, "lookup");
  return node;
}

NodeId NodeTable::parent_of(const Node& node) const {
  return state_.with([&](const State&) { return node.parent_ ? node.parent_->id : kRootNode; });
}

std::shared_ptr<Node> NodeTable::find_open(const FileKey& file) const {
  const auto nodes = state_.with([&](const State& state) { return state.known.of(file); });
  const auto is_open = [](const std::shared_ptr<Node>& node) {
    return node->state.with([](const Node::State& known) { return known.handles.count() > 0; });
  };
  const auto found = std::ranges::find_if(nodes, is_open);
  return found == nodes.end() ? nullptr : *found;
}

bool NodeTable::knows(const FileKey& file) const {
  return state_.with([&](const State& state) { return !state.known.of(file).empty(); });
}

std::optional<FileKey> NodeTable::forget(NodeId id, std::uint64_t lookups) {
  // Destroyed after the lock: it may hold the last reference to a view or to a chain of parents.
  std::shared_ptr<Node> dropped;
  state_.with([&](State& state) {
    const auto known = id == kRootNode ? nullptr : state.known.find(id);
    if (!known) return;
    const auto& node = *known;
    known->lookups_ -= std::min(lookups, node.lookups_);
    if (node.lookups_ > 0) return;
    const bool is_current = state.known.find(node.key) == known;
    state.known.remove(node);
    // The inode of a file that has lost its name may soon be another file's.  An exported number
    // that replace() has given to another file leads to that file only while the kernel knows it.
    const bool has_own_number = !node.generation || node.is_exported();
    if (is_current && !HeldFiles::of(node) && node.parent_ && has_own_number) {
      state.forgotten.add({id, node.key, node.parent_->id, node.name_.str(), node.generation});
    }
    dropped = known;
  });
  if (dropped) note_freed_small(kBytesOfNode);
  return dropped ? std::optional(file_key(*dropped)) : std::nullopt;
}

std::string NodeTable::path_of(const Node& node) const {
  return state_.with([&](const State&) { return NodePath::text(node, root_path_); });
}

NodeTable::Whereabouts NodeTable::whereabouts(const Node& node) const {
  return state_.with([&](const State&) {
    return Whereabouts{NodePath::text(node, root_path_), HeldFiles::of(node),
                       node.names_changed_at_};
  });
}

std::shared_ptr<Node> NodeTable::container_of(const Node& member) const {
  return state_.with([&](const State&) { return NodePath::container_of(member); });
}

}  // namespace framefs::fs

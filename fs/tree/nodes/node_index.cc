#include "fs/tree/nodes/node_index.h"

#include <functional>
#include <utility>

namespace framefs::fs {

std::size_t NodeIndex::id_hash(Position position) const {
  return std::hash<NodeId>{}(nodes_[position]->id);
}
std::size_t NodeIndex::key_hash(Position position) const {
  return NodeKeyHash{}(nodes_[position]->key);
}

auto NodeIndex::position_of(NodeId id) const -> std::optional<Position> {
  return by_id_.find(std::hash<NodeId>{}(id),
                     [&](Position position) { return nodes_[position]->id == id; });
}

auto NodeIndex::position_of(const NodeKey& key) const -> std::optional<Position> {
  return by_key_.find(NodeKeyHash{}(key),
                      [&](Position position) { return nodes_[position]->key == key; });
}

std::shared_ptr<Node> NodeIndex::find(NodeId id) const {
  const auto position = position_of(id);
  return position ? nodes_[*position] : nullptr;
}

std::shared_ptr<Node> NodeIndex::find(const NodeKey& key) const {
  const auto position = position_of(key);
  return position ? nodes_[*position] : nullptr;
}

NodeIndex::Nodes NodeIndex::of(const FileKey& file) const {
  Nodes nodes;
  for (const auto shown_as :
       {ShownAs::itself, ShownAs::frame, ShownAs::array, ShownAs::npy, ShownAs::container}) {
    for (const bool by_full_name : {false, true}) {
      auto known = find({file.device, file.inode, shown_as, by_full_name});
      if (known) nodes.push_back(std::move(known));
    }
  }
  return nodes;
}

void NodeIndex::append(std::shared_ptr<Node> node, bool has_key) {
  by_id_.reserve_one([this](Position at) { return id_hash(at); });
  by_key_.reserve_one([this](Position at) { return key_hash(at); });
  const auto position = static_cast<Position>(nodes_.size());
  nodes_.push_back(std::move(node));
  by_id_.insert(id_hash(position), position);
  if (has_key) by_key_.insert(key_hash(position), position);
}

void NodeIndex::drop(Position position) {
  const auto last = static_cast<Position>(nodes_.size() - 1);
  if (position != last) {
    by_id_.replace(id_hash(last), last, position);
    by_key_.replace(key_hash(last), last, position);
    nodes_[position] = std::move(nodes_[last]);
  }
  nodes_.pop_back();
}

void NodeIndex::add(std::shared_ptr<Node> node) {
  if (const auto other = find(node->id)) remove(*other);
  if (const auto other = find(node->key)) release_key(*other);
  append(std::move(node), true);
}

bool NodeIndex::restore(const std::shared_ptr<Node>& node) {
  if (position_of(node->id)) return false;
  append(node, !position_of(node->key));
  return true;
}

void NodeIndex::release_key(const Node& node) {
  const auto position = position_of(node.key);
  if (!position || nodes_[*position]->id != node.id) return;
  by_key_.erase(*position, [this](Position at) { return key_hash(at); });
}

void NodeIndex::remove(const Node& node) {
  const auto position = position_of(node.id);
  if (!position || nodes_[*position].get() != &node) return;
  release_key(node);
  by_id_.erase(*position, [this](Position at) { return id_hash(at); });
  drop(*position);
}

}  // namespace framefs::fs

#include "fs/tree/nodes/node_index.h"

#include <utility>

namespace framefs::fs {

std::shared_ptr<Node> NodeIndex::find(NodeId id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : *at;
}

std::shared_ptr<Node> NodeIndex::find(const NodeKey& key) const {
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? nullptr : find((*at)->id);
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

void NodeIndex::add(std::shared_ptr<Node> node) {
  if (const auto other = find(node->id)) remove(*other);
  if (const auto other = by_key_.find(node->key); other != by_key_.end()) by_key_.erase(other);
  by_key_.insert(node.get());
  by_id_.insert(std::move(node));
}

bool NodeIndex::restore(const std::shared_ptr<Node>& node) {
  if (!by_id_.insert(node).second) return false;
  by_key_.insert(node.get());  // unless the key leads to another node
  return true;
}

void NodeIndex::release_key(const Node& node) {
  const auto known = by_key_.find(node.key);
  if (known != by_key_.end() && (*known)->id == node.id) by_key_.erase(known);
}

void NodeIndex::remove(const Node& node) {
  const auto known = by_key_.find(node.key);
  if (known != by_key_.end() && *known == &node) by_key_.erase(known);
  if (const auto at = by_id_.find(node.id); at != by_id_.end() && at->get() == &node) {
    by_id_.erase(at);
  }
}

}  // namespace framefs::fs

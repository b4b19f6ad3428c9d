#include "fs/tree/nodes/forgotten_nodes.h"

#include <utility>

namespace framefs::fs {

std::size_t ForgottenNodes::cost_of(const Node& node) noexcept {
  // The node, its key once more, and the memory of three containers.
  constexpr std::size_t kOverhead = sizeof(Node) + sizeof(NodeKey) + 128;
  return kOverhead + node.name.size() + 2 * node.key.member.view().size();
}

void ForgottenNodes::remove(Nodes::iterator at) {
  bytes_ -= cost_of(*at);
  by_id_.erase(at->id);
  by_key_.erase(at->key);
  nodes_.erase(at);
}

void ForgottenNodes::add(Node node) {
  remove(node.id);
  if (const auto same = by_key_.find(node.key); same != by_key_.end()) remove(same->second);
  bytes_ += cost_of(node);
  nodes_.push_front(std::move(node));
  by_id_.emplace(nodes_.front().id, nodes_.begin());
  by_key_.emplace(nodes_.front().key, nodes_.begin());
  while (bytes_ > kMaxBytes) remove(std::prev(nodes_.end()));
}

const ForgottenNodes::Node* ForgottenNodes::find(NodeId id) {
  const auto at = by_id_.find(id);
  if (at == by_id_.end()) return nullptr;
  nodes_.splice(nodes_.begin(), nodes_, at->second);
  return &nodes_.front();
}

void ForgottenNodes::remove(NodeId id) {
  if (const auto at = by_id_.find(id); at != by_id_.end()) remove(at->second);
}

std::optional<NodeId> ForgottenNodes::take(const NodeKey& key, NodeId parent,
                                           const std::string& name) {
  const auto at = by_key_.find(key);
  if (at == by_key_.end()) return std::nullopt;
  const auto& node = *at->second;
  const bool is_there = node.parent == parent && node.name == name;
  const auto id = node.id;
  remove(at->second);
  if (!is_there) return std::nullopt;
  return id;
}

}  // namespace framefs::fs

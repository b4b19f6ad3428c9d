#include "fs/tree/nodes/node_path.h"

#include <utility>
#include <vector>

namespace framefs::fs {

std::shared_ptr<Node> NodePath::put(Node& node, std::shared_ptr<Node> parent,
                                    std::string_view name) {
  node.name_ = name;
  return std::exchange(node.parent_, std::move(parent));
}

bool NodePath::ends_with(const Node& node, const std::shared_ptr<Node>& parent,
                         std::string_view name) {
  return node.parent_ == parent && node.name_ == name;
}

bool NodePath::leads_through(const Node& node, const Node& below) {
  const Node* at = &below;
  while (at != nullptr && at != &node) at = at->parent_.get();
  return at != nullptr;
}

std::string NodePath::text(const Node& node, const std::string& root_path) {
  std::vector<std::string_view> names;
  for (const Node* at = &node; at->parent_ != nullptr; at = at->parent_.get()) {
    if (!at->key.is_member()) names.push_back(at->name_.view());
  }
  if (names.empty()) return node.id == kRootNode || node.key.is_member() ? root_path : "";
  std::string path;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!path.empty()) path += '/';
    path += *name;
  }
  return path;
}

std::shared_ptr<Node> NodePath::container_of(const Node& member) {
  auto at = member.parent_;
  while (at && at->key.is_member()) at = at->parent_;
  return at;
}

}  // namespace framefs::fs

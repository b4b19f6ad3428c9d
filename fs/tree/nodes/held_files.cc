#include "fs/tree/nodes/held_files.h"

#include <utility>

namespace framefs::fs {

HeldFiles::Object HeldFiles::of(const Node& node) noexcept {
  return node.rare_ ? node.rare_->held : nullptr;
}

HeldFiles::Object HeldFiles::hold(Node& node, Object object) {
  auto& rare = node.rare();
  rare.held_has_names = false;
  return std::exchange(rare.held, std::move(object));
}

HeldFiles::Object HeldFiles::release(Node& node) noexcept {
  return node.rare_ ? std::exchange(node.rare_->held, nullptr) : nullptr;
}

void HeldFiles::keep_as_link(const std::shared_ptr<Node>& node, Dropped& dropped) {
  if (!of(*node)) return;
  node->rare().held_has_names = true;
  links_.push_back(node);
  release_oldest(dropped);
}

// Takes the descriptors from the nodes that have had them longest.  Looks at two nodes for one that
// was added: open ones keep theirs, and the list becomes shorter when they have been closed.
void HeldFiles::release_oldest(Dropped& dropped) {
  for (int looked_at = 0; looked_at < 2 && links_.size() > kMaxLinks; ++looked_at) {
    const auto node = links_.front().lock();
    links_.pop_front();
    dropped.push_back(node);
    if (!node || !of(*node) || !node->rare().held_has_names) continue;
    const bool is_open =
        node->state.with([](const Node::State& known) { return known.handles.count() > 0; });
    if (is_open) {
      links_.push_back(node);
    } else {
      dropped.push_back(release(*node));
    }
  }
}

}  // namespace framefs::fs

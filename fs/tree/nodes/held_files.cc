#include "fs/tree/nodes/held_files.h"

#include <utility>

namespace framefs::fs {

HeldFiles::Object HeldFiles::of(const Node& node) noexcept {
  return node.held_ ? node.held_->object : nullptr;
}

HeldFiles::Object HeldFiles::hold(Node& node, Object object) {
  auto before = release(node);
  node.held_ = std::make_unique<Node::Held>(Node::Held{.object = std::move(object)});
  return before;
}

HeldFiles::Object HeldFiles::release(Node& node) noexcept {
  const auto held = std::exchange(node.held_, nullptr);
  return held ? held->object : nullptr;
}

void HeldFiles::keep_as_link(const std::shared_ptr<Node>& node, Dropped& dropped) {
  if (!node->held_) return;
  node->held_->has_names = true;
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
    if (!node || !node->held_ || !node->held_->has_names) continue;
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

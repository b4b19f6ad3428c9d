#include "codec/container/container_tree.h"

#include <algorithm>
#include <limits>

#include "codec/container/container_path.h"

namespace framefs::codec {
namespace {

// Depth-first order: the contents of a directory follow it directly, because '/' sorts first.
bool walks_before(const ContainerTree::Leaf& a, const ContainerTree::Leaf& b) {
  const auto weight = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c); };
  return std::ranges::lexicographical_compare(a.path, b.path, {}, weight, weight);
}

}  // namespace

Result<ContainerTree> ContainerTree::make(std::vector<Leaf> leaves, const ContainerLimits& limits) {
  constexpr std::uint64_t kMaxNodes = std::numeric_limits<NodeId>::max();
  keep_last_of_each(leaves, &Leaf::path);
  std::ranges::sort(leaves, walks_before);
  ContainerTree tree;
  tree.leaves_ = std::move(leaves);
  tree.nodes_.push_back({.is_directory = true});
  // The leaves below each node, by node id; the loop fills the nodes in the order of their ids.
  std::vector<Span> spans = {{0, tree.leaves_.size()}};
  for (NodeId id = 0; id < tree.nodes_.size(); ++id) {
    if (tree.nodes_[id].is_directory) tree.fill(id, spans[id], spans);
    if (tree.nodes_.size() > std::min(limits.tree_nodes, kMaxNodes)) {
      return fail(Errc::over_limit, "container tree");
    }
  }
  return tree;
}

// Creates the entries of one directory.  All leaves `below` start with its path.
void ContainerTree::fill(NodeId directory, Span below, std::vector<Span>& spans) {
  const Node own = nodes_[directory];
  const std::size_t name_at = directory == kRoot ? 0 : std::size_t{own.name_at} + own.name_size + 1;
  nodes_[directory].first_child = static_cast<NodeId>(nodes_.size());
  for (auto begin = below.begin; begin < below.end;) {
    const std::string_view path = leaves_[begin].path;
    const auto name = path.substr(name_at, path.find('/', name_at) - name_at);
    const auto is_below = [&](const Leaf& leaf) {
      const auto rest = std::string_view(leaf.path).substr(name_at);
      return rest.starts_with(name) && (rest.size() == name.size() || rest[name.size()] == '/');
    };
    auto end = begin + 1;
    while (end < below.end && is_below(leaves_[end])) ++end;
    const bool has_leaf = name_at + name.size() == path.size();
    const bool has_more = end - begin > (has_leaf ? 1U : 0U);
    if (has_leaf && has_more) {
      conflicts_.push_back({static_cast<NodeId>(nodes_.size()), leaves_[begin].payload});
    }
    spans.push_back({has_leaf ? begin + 1 : begin, end});
    nodes_.push_back({.parent = directory,
                      .leaf = static_cast<std::uint32_t>(begin),
                      .name_at = static_cast<std::uint16_t>(name_at),
                      .name_size = static_cast<std::uint16_t>(name.size()),
                      .is_directory = has_more});
    ++nodes_[directory].child_count;
    begin = end;
  }
}

std::string_view ContainerTree::name(NodeId id) const {
  if (id == kRoot) return {};
  const Node& node = nodes_[id];
  return std::string_view(leaves_[node.leaf].path).substr(node.name_at, node.name_size);
}

std::optional<ContainerTree::NodeId> ContainerTree::find_child(NodeId directory,
                                                               std::string_view name) const {
  const auto [first, count] = children(directory);
  NodeId low = first;
  for (NodeId left = count; left > 0;) {
    const NodeId half = left / 2;
    if (this->name(low + half) < name) {
      low += half + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  if (low == first + count || this->name(low) != name) return std::nullopt;
  return low;
}

std::optional<ContainerTree::NodeId> ContainerTree::find(std::string_view path) const {
  NodeId at = kRoot;
  while (!path.empty()) {
    const auto name = path.substr(0, path.find('/'));
    const auto child = find_child(at, name);
    if (!child) return std::nullopt;
    at = *child;
    if (name.size() == path.size()) break;
    path.remove_prefix(name.size() + 1);
    if (path.empty()) return std::nullopt;  // a trailing slash
  }
  return at;
}

}  // namespace framefs::codec

#include "fs/tree/changes/array_candidates.h"

#include "fs/source/suffixes.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fs {

std::optional<ArrayCandidates::Rule> ArrayCandidates::rule_for(const Node& node) const {
  if (!is_enabled_ || node.key.is_member() || node.key.by_full_name) return std::nullopt;
  const auto path = locator_.nodes().path_of(node);
  const auto stem = [&]() -> std::optional<std::string> {
    for (const auto& suffix : kSuffixes) {
      const auto rest = stem_of(path, suffix.text);
      if (!rest) continue;
      const bool is_npy = node.key.shown_as == ShownAs::npy;
      return std::string(*rest).append(is_npy ? kNpySuffix : "");
    }
    return std::nullopt;
  }();
  if (!stem) return std::nullopt;
  auto frame = new_frames_.frame_for(*stem);
  if (!frame || !frame->arrays) return std::nullopt;
  return Rule{name_part(*stem), *frame};
}

void ArrayCandidates::note(const FileKey& file) {
  if (!is_enabled_) return;
  auto& nodes = locator_.nodes();
  const auto node = nodes.find(NodeKey{file.device, file.inode, ShownAs::frame});
  if (!node || !rule_for(*node) || !nodes.recall(node->id)) return;
  // The number that the candidate had before: another file may have had the inode.
  const auto before = candidates_.with([&](Candidates& now) {
    auto& candidate = now[file];
    candidate.is_ready = true;
    return std::exchange(candidate.node, node->id);
  });
  if (before != 0) nodes.forget(before, 1);
  thread_.add(convert_);
}

void ArrayCandidates::note_end(const FileKey& file) {
  if (!is_enabled_) return;
  const bool is_known = candidates_.with([&](Candidates& now) {
    const auto at = now.find(file);
    if (at == now.end()) return false;
    at->second.is_ready = true;
    return true;
  });
  if (is_known) thread_.add(convert_);
}

ArrayCandidates::Ready ArrayCandidates::take_ready() {
  return candidates_.with([](Candidates& now) {
    Ready ready;
    for (auto& [file, candidate] : now) {
      const bool is_due = std::exchange(candidate.is_ready, false);
      if (is_due) ready.emplace_back(file, candidate.node);
    }
    return ready;
  });
}

void ArrayCandidates::drop(const FileKey& file) {
  const auto id = candidates_.with([&](Candidates& now) {
    const auto at = now.find(file);
    // Noted again meanwhile: the next round looks at it.
    if (at == now.end() || at->second.is_ready) return NodeId{0};
    const auto node = at->second.node;
    now.erase(at);
    return node;
  });
  if (id != 0) locator_.nodes().forget(id, 1);
}

}  // namespace framefs::fs

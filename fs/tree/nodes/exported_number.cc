#include "fs/tree/nodes/exported_number.h"

#include <array>
#include <cstddef>

namespace framefs::fs {
namespace {

// Above the inode number, one more than the place of the form in this list: the numbers that
// NodeTable counts up are smaller.  Handles of earlier mounts depend on the order.
constexpr std::array kForms = {ShownAs::itself, ShownAs::frame, ShownAs::array, ShownAs::npy};
constexpr unsigned kFormShift = 56;
constexpr NodeId kInodeMask = (NodeId{1} << kFormShift) - 1;

}  // namespace

std::optional<NodeId> exported_number(const NodeKey& key) noexcept {
  if (key.is_member() || key.by_full_name || key.inode > kInodeMask) return std::nullopt;
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    if (kForms[i] == key.shown_as) return (NodeId{i + 1} << kFormShift) | key.inode;
  }
  return std::nullopt;
}

std::optional<ExportedFile> exported_file(NodeId number) noexcept {
  const auto form = number >> kFormShift;
  if (form == 0 || form > kForms.size()) return std::nullopt;
  return ExportedFile{.inode = number & kInodeMask, .shown_as = kForms[form - 1]};
}

}  // namespace framefs::fs

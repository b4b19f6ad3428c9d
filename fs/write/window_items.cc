#include "fs/write/window_items.h"

#include <algorithm>

namespace framefs::fs {
namespace {

// The part of a file that is decoded ahead of the packing.
constexpr std::uint64_t kWindowBytes = 32u << 20;

}  // namespace

Result<bool> WindowItems::prepare(codec::ByteRange range) {
  if (has(range.offset, range.size)) return true;
  if (range.size > kWindowBytes) return false;
  window_.resize(range.size);
  begin_ = range.offset;
  if (auto read = file_.read_at(begin_, window_); !read) {
    window_.clear();
    return std::unexpected(read.error());
  }
  return true;
}

Status WindowItems::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (!has(offset, out.size())) return file_.read_at(offset, out);
  std::ranges::copy(std::span(window_).subspan(offset - begin_, out.size()), out.begin());
  return {};
}

}  // namespace framefs::fs

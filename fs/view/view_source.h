#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "codec/core/byte_source.h"
#include "fs/view/view.h"

namespace framefs::fs {

// The bytes of a view as a source, for a reader that goes from its begin to its end.  Each read may
// wait for threads that decode, so that it is none of theirs.
// Threads: any number.  Lifetime: the view outlives it.
class ViewSource final : public codec::ByteSource {
 public:
  ViewSource(const View& view, std::uint64_t size) : view_(view), size_(size) {}

  // Errors: those of View::read().
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      FRAMEFS_TRY(
          const auto piece,
          view_.read(offset, std::min<std::uint64_t>(kPieceBytes, out.size()), Access::sequential));
      if (piece.spans.empty()) return codec::fail(codec::Errc::truncated, "file", offset);
      for (const auto& span : piece.spans) {
        std::ranges::copy(span, out.begin());
        out = out.subspan(span.size());
        offset += span.size();
      }
    }
    return {};
  }
  [[nodiscard]] Result<std::uint64_t> size() const override { return size_; }

 private:
  static constexpr std::uint64_t kPieceBytes = 4u << 20;

  const View& view_;
  const std::uint64_t size_;
};

}  // namespace framefs::fs

#include "src/pack/decoded_frame.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "codec/frame/frame_array.h"
#include "fs/view/array_view.h"
#include "fs/view/frame_view.h"

namespace framefs {
namespace {

constexpr std::uint64_t kDecodedCacheBytes = 256u << 20;
constexpr std::uint64_t kComparedBytes = 8u << 20;

std::unique_ptr<const fs::View> view_of(const std::shared_ptr<const fs::CachedFrame>& chunks) {
  const auto& frame = chunks->frame();
  if (frame && frame->array()) {
    return std::make_unique<fs::ArrayView>(chunks, fs::ArrayView::Header::none, kDecodedCacheBytes);
  }
  return std::make_unique<fs::FrameView>(chunks);
}

}  // namespace

DecodedFrame::DecodedFrame(fs::FrameOrigin origin, fs::WorkerPool& pool, fs::Log& log)
    : buffers_(fs::BufferPool::share_of(kDecodedCacheBytes)),
      cache_(kDecodedCacheBytes),
      blocks_(cache_, buffers_, pool),
      chunks_(std::make_shared<const fs::CachedFrame>(std::move(origin), fs::ContentId{1},
                                                      fs::ReadServices{.limits = limits_,
                                                                       .buffers = buffers_,
                                                                       .cache = cache_,
                                                                       .blocks = blocks_,
                                                                       .log = log,
                                                                       .verify_checksums = true})),
      view_(view_of(chunks_)),
      bytes_(std::make_unique<const fs::ViewSource>(*view_, view_->decoded_bytes())) {}

codec::Result<std::optional<codec::ArrayLayout>> DecodedFrame::array() const {
  const auto& opened = frame();
  if (!opened) return std::unexpected(opened.error());
  if (!opened->array()) return std::nullopt;
  FRAMEFS_TRY(const auto meta, *opened->array());
  FRAMEFS_TRY(const auto layout, codec::layout_of(meta, opened->header()));
  return layout;
}

codec::Result<std::uint64_t> DecodedFrame::find_data(std::uint64_t offset) const {
  auto found = view_->seek(fs::Seek::data, offset);
  const bool is_none =
      !found && found.error().kind == codec::Errc::system && found.error().sys == ENXIO;
  return is_none ? size() : found;
}

codec::Status check_same_bytes(const DecodedFrame& one, const DecodedFrame& other,
                               const std::function<bool()>& stop) {
  constexpr const char* kDiffers = "the new frame does not hold the bytes of the old one";
  if (one.size() != other.size()) return codec::fail(codec::Errc::checksum, kDiffers);
  std::vector<std::byte> a(std::min(kComparedBytes, one.size()));
  auto b = a;
  for (std::uint64_t at = 0; at < one.size();) {
    if (stop && stop()) return fs::system_error_of(EINTR, "stopped");
    // Holes of both are not decoded.
    FRAMEFS_TRY(const auto data, one.find_data(at));
    FRAMEFS_TRY(const auto other_data, other.find_data(at));
    at = std::min(data, other_data);
    const auto size = std::min<std::uint64_t>(a.size(), one.size() - at);
    FRAMEFS_CHECK(one.bytes().read_at(at, std::span(a).first(size)));
    FRAMEFS_CHECK(other.bytes().read_at(at, std::span(b).first(size)));
    if (!std::ranges::equal(std::span(a).first(size), std::span(b).first(size))) {
      return codec::fail(codec::Errc::checksum, kDiffers, at);
    }
    at += size;
  }
  return {};
}

}  // namespace framefs

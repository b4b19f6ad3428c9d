#include "fs/write/frame_vlmeta.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "codec/frame/frame.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/metalayer_content.h"

namespace framefs::fs {

// Whether the vl-metalayers are too large for a frame that already has no chunks.
Result<bool> FrameVlmeta::are_large(std::span<const codec::NamedContent> vlmetalayers) const {
  FRAMEFS_TRY(const auto trailer, backend_.encode_trailer({0, {}, vlmetalayers}));
  return trailer.size() > backend_.max_empty_trailer();
}

Result<bool> FrameVlmeta::need_chunks() const {
  return overlay_.read([&](const ChunkOverlay& overlay) -> Result<bool> {
    FRAMEFS_TRY(const bool is_large, are_large(overlay.vlmetalayers));
    return is_large && overlay.nbytes() > 0;
  });
}

Status FrameVlmeta::set(std::string_view name, std::optional<std::span<const std::byte>> content,
                        Existing existing) {
  if (name.empty() || name.size() > codec::kMaxMetalayerName) {
    return system_error_of(ENAMETOOLONG, "setxattr");
  }
  if (name == codec::kChecksumLayer) return system_error_of(EPERM, "setxattr");
  std::optional<std::vector<std::byte>> stored;
  if (content) {
    FRAMEFS_TRY(stored, codec::encode_vlmetalayer(*content));
  }
  return overlay_.write([&](ChunkOverlay& overlay) -> Status {
    FRAMEFS_CHECK(backend_.check_usable());
    const auto most = kMaxVlmetalayers - (backend_.checksums()->are_kept() ? 1 : 0);
    FRAMEFS_TRY(auto layers,
                change_vlmeta(overlay.vlmetalayers, name, std::move(stored), existing, most));
    if (overlay.nbytes() == 0) {
      FRAMEFS_TRY(const bool is_large, are_large(layers));
      if (is_large) return system_error_of(ENOSPC, "setxattr");
    }
    overlay.vlmetalayers = std::move(layers);
    overlay.set_changed(true);
    overlay.ctime = clock_.now();
    return {};
  });
}

Status FrameVlmeta::renew_checksums(std::span<const codec::ChunkChecksum> checksums) {
  return overlay_.write([&](ChunkOverlay& overlay) -> Status {
    if (overlay.vlmetalayers.size() >= kMaxVlmetalayers) {
      return codec::fail_value(codec::Errc::over_limit,
                               "number of vl-metalayers beside the checksums", 0,
                               static_cast<std::int64_t>(overlay.vlmetalayers.size()));
    }
    const auto all = overlay.entries();
    backend_.checksums()->keep(all.entries(), checksums);
    overlay.set_changed(true);
    return {};
  });
}

Result<std::optional<std::vector<std::byte>>> FrameVlmeta::content(std::string_view name) const {
  auto stored = overlay_.read([&](const ChunkOverlay& overlay) {
    const auto at = std::ranges::find(overlay.vlmetalayers, name, &codec::NamedContent::name);
    return at == overlay.vlmetalayers.end() ? std::nullopt : std::optional(at->content);
  });
  if (!stored) return std::nullopt;
  const codec::MemorySource source(*stored);
  FRAMEFS_TRY(auto plain,
              codec::read_vlmetalayer(source, {std::string(name), {0, stored->size()}}, limits_));
  return plain;
}

std::vector<std::string> FrameVlmeta::names() const {
  return overlay_.read([](const ChunkOverlay& overlay) {
    std::vector<std::string> names;
    names.reserve(overlay.vlmetalayers.size());
    for (const auto& layer : overlay.vlmetalayers) names.push_back(layer.name);
    return names;
  });
}

}  // namespace framefs::fs

#include "fs/tree/content/frame_xattrs.h"

#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <utility>

namespace framefs::fs {
namespace {

// `flags` are those of setxattr(2).
FrameVlmeta::Existing existing_for(int flags) {
  if ((flags & XATTR_CREATE) != 0) return FrameVlmeta::Existing::must_not;
  return (flags & XATTR_REPLACE) != 0 ? FrameVlmeta::Existing::must : FrameVlmeta::Existing::any;
}

}  // namespace

// The frame that a node shows.
Result<FrameXattrs::SharedFrame> FrameXattrs::open_frame(Node& node) const {
  FRAMEFS_TRY(const auto source, locator_.open_file(node));
  FRAMEFS_TRY(auto lock, lock_files_.share(node, source, true));
  FRAMEFS_TRY(auto origin, containers_.origin_of(node, source));
  auto opened = open_frame_at(origin, limits_);
  if (!opened) return std::unexpected(opened.error());
  return SharedFrame{std::move(lock), {std::move(origin), std::move(*opened)}};
}

// Copying tools try to set every attribute that they see, but those that describe the frame cannot
// be set.  Hence these are listed on request only.
std::vector<std::string> FrameXattrs::names(Node& node) const {
  if (!node.key.shows_frame()) return {};
  const auto shared = open_frame(node);
  if (!shared) return {};
  const auto& opened = shared->opened;
  auto names = lists_info_ ? frame_attribute_names(opened.frame) : std::vector<std::string>{};
  std::vector<std::string> others;
  if (const auto session = writers_.shown_session(node)) {
    for (const auto& layer : session->vlmeta().names()) {
      auto name = attribute_of_layer(kVlmetaAttributes, layer);
      if (!name.empty()) others.push_back(std::move(name));
    }
  } else {
    others = vlmeta_attribute_names(opened.frame);
  }
  std::ranges::move(others, std::back_inserter(names));
  return names;
}

Result<std::vector<char>> FrameXattrs::value(Node& node, std::string_view name) const {
  const auto missing = system_error_of(ENODATA, "getxattr");
  if (!node.key.shows_frame()) return missing;
  FRAMEFS_TRY(const auto shared, open_frame(node));
  const auto session = writers_.shown_session(node);
  if (!session || !name.starts_with(kVlmetaAttributes)) {
    return frame_attribute(shared.opened, name, limits_);
  }
  FRAMEFS_TRY(const auto content, session->vlmeta().content(name.substr(kVlmetaAttributes.size())));
  if (!content) return missing;
  return attribute_value(*content);
}

Status FrameXattrs::set(Node& node, std::string_view name, std::span<const std::byte> content,
                        int flags) const {
  if (!node.key.shows_frame() || !name.starts_with(kVlmetaAttributes)) {
    return system_error_of(EPERM, "setxattr");
  }
  return writers_.with_session(node, [&](FrameWriteSession& session) {
    return session.vlmeta().set(name.substr(kVlmetaAttributes.size()), content,
                                existing_for(flags));
  });
}

Status FrameXattrs::remove(Node& node, std::string_view name) const {
  FRAMEFS_TRY([[maybe_unused]] const auto present, value(node, name));
  if (!name.starts_with(kVlmetaAttributes)) return system_error_of(EPERM, "removexattr");
  return writers_.with_session(node, [&](FrameWriteSession& session) {
    return session.vlmeta().set(name.substr(kVlmetaAttributes.size()), std::nullopt,
                                FrameVlmeta::Existing::must);
  });
}

}  // namespace framefs::fs

#include "fs/tree/content/node_views.h"

#include <utility>

#include "fs/view/array_view.h"
#include "fs/view/cached_frame.h"
#include "fs/view/frame_view.h"
#include "fs/view/window_view.h"

namespace framefs::fs {
namespace {

ArrayView::Header header_of(ShownAs shown_as) {
  return shown_as == ShownAs::npy ? ArrayView::Header::npy : ArrayView::Header::none;
}

}  // namespace

std::shared_ptr<const View> make_view(ShownAs shown_as, FrameOrigin origin, ContentId content,
                                      const ReadServices& services, std::uint64_t cache_bytes) {
  if (shown_as == ShownAs::itself) {
    return std::make_shared<const WindowView>(std::move(origin.source), services.buffers);
  }
  auto frame = std::make_shared<const CachedFrame>(std::move(origin), content, services);
  if (shown_as == ShownAs::frame) return std::make_shared<const FrameView>(std::move(frame));
  return std::make_shared<const ArrayView>(std::move(frame), header_of(shown_as), cache_bytes);
}

Result<std::shared_ptr<const View>> NodeViews::make(const OpenFile& file, ContentId content) const {
  auto origin = containers_.origin_of(*file.node, file.source);
  const auto shown_as = file.node->key.shown_as;
  if (!origin && shown_as == ShownAs::itself) {
    services_.log.failure(containers_.name_for_log(*file.node), origin.error());
    return std::make_shared<const WindowView>(std::unexpected(origin.error()), services_.buffers);
  }
  if (!origin) return std::unexpected(origin.error());
  return make_view(shown_as, std::move(*origin), content, services_, cache_bytes_);
}

// Other programs append to frames under a mount or change them in place.  Comparing the file's
// times before and after each read costs little and prevents answers that mix two states.
Result<NodeViews::Current> NodeViews::current(const OpenFile& file) const {
  auto& node = *file.node;
  FRAMEFS_TRY(const auto st, file.source.content_stat());
  const auto identity = identity_of(st);
  const auto id = containers_.content_id(node, identity);
  const auto known =
      node.state.with([&](const Node::State& state) { return state.content.view_of(id); });
  if (known) return Current{known, id, identity};
  FRAMEFS_TRY(const auto made, make(file, id));
  return node.state.with(
      [&](Node::State& state) { return Current{state.content.keep(id, made), id, identity}; });
}

std::optional<std::chrono::nanoseconds> NodeViews::age_with(const OpenFile& file,
                                                            ContentId content) const {
  const auto st = file.source.content_stat();
  if (!st || containers_.content_id(*file.node, identity_of(*st)) != content) return std::nullopt;
  return age_of(*st);
}

bool NodeViews::is_current(const OpenFile& file, ContentId content) const {
  return age_with(file, content).has_value();
}

bool NodeViews::is_settled(const OpenFile& file, ContentId content) const {
  const auto age = age_with(file, content);
  return age && *age > settling_;
}

std::shared_ptr<const View> NodeViews::of_session(Node& node,
                                                  const FrameWriteSession& session) const {
  auto known = node.state.with(
      [&](const Node::State& state) { return state.content.view_of_session(session.id()); });
  if (known) return known;
  const auto chunks = session.chunks();
  std::shared_ptr<const View> made;
  if (node.key.shown_as == ShownAs::frame) {
    made = std::make_shared<const FrameView>(chunks);
  } else {
    made = session.reading([&] {
      return std::make_shared<const ArrayView>(chunks, header_of(node.key.shown_as), cache_bytes_);
    });
  }
  const auto dropped = node.state.with(
      [&](Node::State& state) { return state.content.keep_of_session(session.id(), made); });
  return made;
}

std::shared_ptr<const ArrayView> NodeViews::array_of(Node& node,
                                                     const FrameWriteSession& session) const {
  return std::static_pointer_cast<const ArrayView>(of_session(node, session));
}

template <class Body>
void NodeViews::for_each_node(const FileKey& file, const Body& body) const {
  for (const auto shown_as : {ShownAs::frame, ShownAs::array, ShownAs::npy}) {
    for (const bool by_full_name : {false, true}) {
      const auto node = nodes_.find(NodeKey{file.device, file.inode, shown_as, by_full_name});
      if (node) body(*node);
    }
  }
}

void NodeViews::end_session(const FileKey& file, const FileIdentity& identity) const {
  for_each_node(file, [&](Node& node) {
    const auto dropped = node.state.with([&](Node::State& state) {
      state.pages.end_session(identity);
      return state.content.end_session();
    });
  });
}

}  // namespace framefs::fs

#include "fs/tree/kernel_pages.h"

#include <utility>

namespace framefs::fs {
namespace {

// Whether the pages have the content from before the change, and the change hides no other.
bool is_known(const Node::State& state, const AttributeReply& reply) {
  const auto& [identity, session_id] = reply.before;
  if (session_id != 0) return state.kernel_pages_of == session_id;
  return state.kernel_pages == identity && !reply.sets_modification;
}

}  // namespace

bool keeps_pages(Node& node, const ContentState& now) {
  return node.state.with([&](Node::State& state) {
    const bool is_same = std::exchange(state.kernel_pages, now.identity) == now.identity;
    // While a session writes the file, all its changes come from the kernel itself.
    const bool is_same_session =
        std::exchange(state.kernel_pages_of, now.session_id) == now.session_id;
    return is_same || (now.session_id != 0 && is_same_session);
  });
}

void note_readable(Node& node, const std::shared_ptr<const View>& view) {
  node.state.with([&](Node::State& state) {
    if (state.view == view) state.readable = state.content_id;
  });
}

bool is_known_readable(const Node& node, const ContentState& now) {
  if (now.session_id != 0) return false;
  return node.state.with([&](const Node::State& state) {
    const bool asks_no_lock_file =
        !state.has_lock_file && state.lock_looked_for == state.content_id;
    return state.content_id && state.identity == now.identity &&
           state.readable == state.content_id && asks_no_lock_file;
  });
}

bool may_hide_change(const Node& node, const AttributeReply& reply) {
  return node.state.with(
      [&](const Node::State& state) { return state.open_handles > 0 && !is_known(state, reply); });
}

bool hides_change(Node& node, const AttributeReply& reply, const ContentState& now) {
  const auto& before = reply.before;
  const bool is_same_session = now.session_id == before.session_id;
  const bool is_same_file = now.identity.size == before.identity.size &&
                            now.identity.mtime_ns == before.identity.mtime_ns;
  const bool is_same = is_same_session && (now.session_id != 0 || is_same_file);
  return node.state.with([&](Node::State& state) {
    const bool is_current = is_known(state, reply) && is_same;
    // Without handles, the next opening compares the content with that of the pages.
    if (!is_current && state.open_handles == 0) return false;
    state.kernel_pages = now.identity;
    state.kernel_pages_of = now.session_id;
    return !is_current;
  });
}

}  // namespace framefs::fs

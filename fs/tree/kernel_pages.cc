#include "fs/tree/kernel_pages.h"

#include <limits>
#include <utility>

namespace framefs::fs {
namespace {

// Stands for any session that writes the file.
constexpr auto kSomeSession = std::numeric_limits<std::uint64_t>::max();

}  // namespace

bool KernelPages::open(const ContentState& now) {
  const bool is_same = std::exchange(identity_, now.identity) == now.identity;
  // While a session writes the file, all its changes come from the kernel itself.
  const bool is_same_session = std::exchange(session_id_, now.session_id) == now.session_id;
  return is_same || (now.session_id != 0 && is_same_session);
}

void KernelPages::end_session(const FileIdentity& identity) {
  if (std::exchange(session_id_, 0) != 0) identity_ = identity;
}

void KernelPages::note_size(const FileIdentity& identity, bool is_written) {
  if (identity_ != FileIdentity{} || session_id_ != 0) return;
  if (is_written) {
    session_id_ = kSomeSession;
  } else {
    identity_ = identity;
  }
}

// Not by ctime, which moves when the file gets another name or mode.
bool KernelPages::may_have_size_of(const FileIdentity& identity) const {
  const bool is_same = identity_.size == identity.size && identity_.mtime_ns == identity.mtime_ns;
  return is_same || identity_ == FileIdentity{};
}

bool KernelPages::may_hide_change(const AttributeReply& reply) const {
  const auto& [identity, session_id] = reply.before;
  if (session_id != 0) return session_id_ != session_id;
  return identity_ != identity || reply.sets_modification;
}

bool KernelPages::hides_change(const AttributeReply& reply, const ContentState& now,
                               bool has_handles) {
  const auto& before = reply.before;
  const bool is_same_session = now.session_id == before.session_id;
  const bool is_same_file = now.identity.size == before.identity.size &&
                            now.identity.mtime_ns == before.identity.mtime_ns;
  const bool is_same = is_same_session && (now.session_id != 0 || is_same_file);
  const bool is_current = !may_hide_change(reply) && is_same;
  // Without handles, the next opening compares the content with that of the pages.
  if (!is_current && !has_handles) return false;
  identity_ = now.identity;
  session_id_ = now.session_id;
  return !is_current;
}

}  // namespace framefs::fs

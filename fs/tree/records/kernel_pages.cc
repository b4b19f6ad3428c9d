#include "fs/tree/records/kernel_pages.h"

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

void KernelPages::note_attributes(const ContentState& now) {
  if (identity_.size == now.identity.size) {
    identity_.mtime_ns = now.identity.mtime_ns;
  } else if (now.session_id != 0) {
    session_id_ = now.session_id;
  }
}

}  // namespace framefs::fs

#include "fs/tree/records/shown_content.h"

#include <utility>

namespace framefs::fs {

ContentId ShownContent::id_of(const FileIdentity& identity, ContentIds& ids, Dropped& dropped) {
  if (!id_ || identity_ != identity) {
    identity_ = identity;
    id_ = ids.next();
    dropped = release();
  }
  return id_;
}

ShownContent::Dropped ShownContent::forget() {
  id_ = {};
  return release();
}

std::shared_ptr<const View> ShownContent::view_of(ContentId content) const {
  return id_ == content ? view_ : nullptr;
}

std::shared_ptr<const View> ShownContent::keep(ContentId content,
                                               const std::shared_ptr<const View>& made) {
  if (id_ != content) return made;
  if (!view_) view_ = made;
  return view_;
}

ShownContent::Dropped ShownContent::release() noexcept { return std::exchange(view_, nullptr); }

void ShownContent::note_readable(const std::shared_ptr<const View>& view) {
  if (view_ == view) readable_ = id_;
}

bool ShownContent::is_readable(const FileIdentity& identity) const {
  return id_ && identity_ == identity && readable_ == id_;
}

std::shared_ptr<const View> ShownContent::view_of_session(std::uint64_t session_id) const {
  return session_id_ == session_id ? session_view_ : nullptr;
}

ShownContent::Dropped ShownContent::keep_of_session(std::uint64_t session_id,
                                                    std::shared_ptr<const View> view) {
  session_id_ = session_id;
  return std::exchange(session_view_, std::move(view));
}

ShownContent::Dropped ShownContent::end_session() {
  id_ = {};
  session_id_ = 0;
  return std::exchange(session_view_, nullptr);
}

}  // namespace framefs::fs

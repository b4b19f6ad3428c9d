#pragma once

#include <cstdint>
#include <memory>

#include "fs/core/files/file.h"
#include "fs/read/content_id.h"
#include "fs/view/view.h"

namespace framefs::fs {

// The views of a node: that of its file in SOURCE, and that of the session that writes the file.
// Owner: NodeViews, or RemoteTree.
//
// The last reference to a view frees much memory.  Members therefore return the views that they no
// longer need, for the caller to destroy after it has released the lock of the node.
//
// Threads: one at a time.
class ShownContent {
 public:
  using Dropped = std::shared_ptr<const View>;

  // The state of the file that was seen last; none after forget().
  [[nodiscard]] ContentId id() const noexcept { return id_; }
  // Returns the id of the state that `identity` describes: a new id if the file has changed.
  [[nodiscard]] ContentId id_of(const FileIdentity& identity, ContentIds& ids, Dropped& dropped);
  // Another program has changed the file, perhaps within the granularity of its times.
  [[nodiscard]] Dropped forget();

  // The view of that state; null if the node has none.
  [[nodiscard]] std::shared_ptr<const View> view_of(ContentId content) const;
  // Keeps `made` as the view of that state, unless the file has another state by now.  Returns the
  // view to use: another thread may have stored one first.
  [[nodiscard]] std::shared_ptr<const View> keep(ContentId content,
                                                 const std::shared_ptr<const View>& made);
  // Without handles, a node has no view.
  [[nodiscard]] Dropped release() noexcept;

  // Notes that `view` can be read.
  void note_readable(const std::shared_ptr<const View>& view);
  // Whether the state that `identity` describes was seen last and can be read.
  [[nodiscard]] bool is_readable(const FileIdentity& identity) const;

  // The view of the bytes of a session, by the id of the session; null if the node has none.
  [[nodiscard]] std::shared_ptr<const View> view_of_session(std::uint64_t session_id) const;
  [[nodiscard]] Dropped keep_of_session(std::uint64_t session_id, std::shared_ptr<const View> view);
  // The session has left the file in a state that was not seen, whatever its times are.
  [[nodiscard]] Dropped end_session();

 private:
  std::shared_ptr<const View> view_;  // of the state `id_`; null while no handle is open
  FileIdentity identity_;             // the state that `id_` stands for
  ContentId id_;
  ContentId readable_;  // the state whose view can be read
  std::shared_ptr<const View> session_view_;
  std::uint64_t session_id_ = 0;  // of that view; 0: none
};

}  // namespace framefs::fs

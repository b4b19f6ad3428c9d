#pragma once

#include "fs/core/mount_options.h"
#include "fs/tree/activity.h"
#include "fs/tree/changes/array_candidates.h"
#include "fs/tree/content/content_reads.h"
#include "fs/tree/content/frame_writers.h"
#include "fs/tree/content/frame_xattrs.h"
#include "fs/tree/content/lock_files.h"
#include "fs/tree/content/node_views.h"
#include "fs/tree/content/page_pusher.h"
#include "fs/tree/content/snapshots.h"
#include "fs/tree/node_core.h"
#include "fs/view/decode_ahead.h"
#include "fs/view/read_core.h"
#include "fs/write/new_frame_policy.h"
#include "fs/write/write_core.h"

namespace framefs::fs {

// The objects with which a mount reads and writes the content of the files that it shows.  Readers,
// writers and the kernel's pages must agree about it:
//
// - When a session ends, the views and the kernel's pages of its file stay, as those of the state
//   that it left.
// - The kernel gets pages only of content that no session writes.
//
// Threads: any number.
class ContentCore {
 public:
  // Lifetime: `nodes` and `reads` outlive the `ContentCore`.
  ContentCore(const MountOptions& options, NodeCore& nodes, ReadCore& reads);
  ContentCore(const ContentCore&) = delete;
  ContentCore& operator=(const ContentCore&) = delete;
  ~ContentCore() = default;

  [[nodiscard]] const NewFramePolicy& new_frames() const noexcept { return new_frames_; }
  [[nodiscard]] const NodeViews& views() const noexcept { return views_; }
  [[nodiscard]] ArrayCandidates& candidates() noexcept { return candidates_; }
  [[nodiscard]] WriteCore& writes() noexcept { return writes_; }
  [[nodiscard]] PagePusher& pages() noexcept { return pages_; }
  [[nodiscard]] const LockFiles& lock_files() const noexcept { return lock_files_; }
  [[nodiscard]] const FrameWriters& writers() const noexcept { return writers_; }
  [[nodiscard]] const Snapshots& snapshots() const noexcept { return snapshots_; }
  [[nodiscard]] const ContentReads& content_reads() const noexcept { return content_reads_; }
  [[nodiscard]] const FrameXattrs& xattrs() const noexcept { return xattrs_; }

  // Of a mount that can be written or not.
  [[nodiscard]] Activity activity(bool is_read_only);

 private:
  // Each object refers only to those before it.
  // Constant after construction.
  const NewFramePolicy new_frames_;
  // Self-synchronised.
  DecodeAhead ahead_;
  const NodeViews views_;
  ArrayCandidates candidates_;
  WriteCore writes_;
  PagePusher pages_;
  const LockFiles lock_files_;
  const FrameWriters writers_;
  const Snapshots snapshots_;
  const ContentReads content_reads_;
  const FrameXattrs xattrs_;
};

}  // namespace framefs::fs

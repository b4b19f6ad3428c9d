#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "fs/core/mount_options.h"
#include "fs/tree/content/open_file.h"
#include "fs/tree/nodes/open_containers.h"
#include "fs/view/frame_chunks.h"
#include "fs/view/view.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {

class ArrayView;

// A view of the bytes at `origin`, shown as a file.  `content` is the id of their state.
// Lifetime: `services` outlive the view.
[[nodiscard]] std::shared_ptr<const View> make_view(ShownAs shown_as, FrameOrigin origin,
                                                    ContentId content, const ReadServices& services,
                                                    std::uint64_t cache_bytes);

// The views of nodes: one view for each state of a node's content, and one for each session that
// writes it.  A node keeps its view while the file is open.
// Threads: any number.
class NodeViews {
 public:
  // Lifetime: all referenced objects outlive the `NodeViews`.
  NodeViews(const MountOptions& options, NodeTable& nodes, const OpenContainers& containers,
            const ReadServices& services)
      : cache_bytes_(options.cache_bytes),
        settling_(2 * std::chrono::milliseconds(options.attr_timeout_ms) + kClockTicks),
        nodes_(nodes),
        containers_(containers),
        services_(services) {}

  struct Current {
    std::shared_ptr<const View> view;
    ContentId content;        // of the state of the file
    FileIdentity identity{};  // that state
  };
  // The view of an open file in its current state in SOURCE.  A file that cannot be opened as a
  // frame has a view too, and each read of that view reports the reason.  Errors: system.
  [[nodiscard]] Result<Current> current(const OpenFile& file) const;
  // Whether an open file still has that content.  If not, the bytes that were read through the view
  // may belong to several states.
  [[nodiscard]] bool is_current(const OpenFile& file, ContentId content) const;
  // Whether an open file has that content, and has had it for longer than the kernel trusts
  // attributes.  The kernel then knows the size.
  [[nodiscard]] bool is_settled(const OpenFile& file, ContentId content) const;
  // The view of the node while `session` writes it; read it within FrameWriteSession::reading().
  [[nodiscard]] std::shared_ptr<const View> of_session(Node& node,
                                                       const FrameWriteSession& session) const;
  // The same for a node that shows an array.
  [[nodiscard]] std::shared_ptr<const ArrayView> array_of(Node& node,
                                                          const FrameWriteSession& session) const;
  // Call this when a session ends, with the state that it left.  The kernel's pages hold the bytes
  // that were written last and stay valid.
  void end_session(const FileKey& file, const FileIdentity& identity) const;

 private:
  // Longer than two changes of a file can have the same times.
  static constexpr std::chrono::milliseconds kClockTicks{50};

  // The time since the last change of an open file, if it has that content.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> age_with(const OpenFile& file,
                                                                 ContentId content) const;
  template <class Body>
  void for_each_node(const FileKey& file, const Body& body) const;
  [[nodiscard]] Result<std::shared_ptr<const View>> make(const OpenFile& file,
                                                         ContentId content) const;

  // Constant after construction.
  const std::uint64_t cache_bytes_;
  const std::chrono::nanoseconds settling_;
  // Self-synchronised.
  NodeTable& nodes_;
  const OpenContainers& containers_;
  const ReadServices services_;
};

}  // namespace framefs::fs

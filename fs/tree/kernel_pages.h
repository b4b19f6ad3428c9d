#pragma once

#include <cstdint>
#include <memory>

#include "fs/core/file.h"
#include "fs/tree/node.h"

namespace framefs::fs {

// The content of a file at one moment: the state of its backing file, and the session that writes
// it (0: none).
struct ContentState {
  FileIdentity identity;
  std::uint64_t session_id = 0;
};

// The kernel keeps pages of a file from one opening to the next, and drops them when it learns of
// another time of modification.  The functions below remember the content that these pages have.
// Threads: any number.

// To be called for each new handle of a file, with the content that it opens.  Returns whether the
// kernel's pages have that content.
bool keeps_pages(Node& node, const ContentState& now);

// Notes that `view`, the one that the node has now, can be read: the kernel may keep pages of it.
void note_readable(Node& node, const std::shared_ptr<const View>& view);
// Whether a handle that opens the content `now` needs no view before it is read: that content is
// known to be readable, nobody writes it, and no lock file has to be asked.
[[nodiscard]] bool is_known_readable(const Node& node, const ContentState& now);

// The reply to a change of attributes carries the time of modification, and the kernel takes it
// over without a look at its pages.  Hence it must not hide a change that the pages lack.
//
// Invariant: such a reply vouches for the pages only if their content was the present one before
// the change, and if the time has not changed since, or a session has watched the content.
struct AttributeReply {
  ContentState before;             // read before the change of attributes
  bool sets_modification = false;  // the caller sets the time of modification
};
// Whether open files of the node may have pages for which the reply would vouch wrongly.
[[nodiscard]] bool may_hide_change(const Node& node, const AttributeReply& reply);
// The same after the change, which has led to `now`.  The caller makes the kernel drop the pages.
bool hides_change(Node& node, const AttributeReply& reply, const ContentState& now);

}  // namespace framefs::fs

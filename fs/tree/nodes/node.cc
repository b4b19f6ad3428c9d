#include "fs/tree/nodes/node.h"

namespace framefs::fs {

ContentId Node::content_id(const FileIdentity& identity, ContentIds& ids) {
  ShownContent::Dropped dropped;
  return state.with([&](State& now) { return now.content.id_of(identity, ids, dropped); });
}

}  // namespace framefs::fs

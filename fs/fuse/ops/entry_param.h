#pragma once

#include <fuse_lowlevel.h>

#include "fs/fuse/ops/answer.h"

namespace framefs::fuse {

// The answer to a lookup, as FUSE takes it.  `MountType` is Mount or RemoteMount.
template <class MountType>
fuse_entry_param entry_param(const fs::NodeEntry& entry, const MountType& mount) {
  fuse_entry_param param{};
  param.ino = entry.id;
  // For the kernel, the root's generation is 0.
  param.generation = entry.id == fs::kRootNode ? 0 : entry.generation.value_or(mount.generation);
  param.attr = shown(mount, entry.stat);
  param.attr_timeout = mount.attr_timeout_s;
  param.entry_timeout = entry.is_listed || mount.options.immutable ? mount.attr_timeout_s : 0;
  return param;
}

}  // namespace framefs::fuse

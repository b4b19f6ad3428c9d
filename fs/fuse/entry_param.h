#pragma once

#include <string_view>

#include <fuse_lowlevel.h>

#include "fs/fuse/answer.h"

namespace framefs::fuse {

// The watch of a directory in which names are to be looked up.  For a directory that is not watched
// yet, `open` returns a Result of a pointer to its OpenFolder.
template <class MountType, class Open>
TrustedEntries::Watch watch_of(MountType& mount, fs::NodeId directory, const Open& open) {
  if constexpr (requires { mount.trusted; }) {
    if (const auto known = mount.trusted.watch_of(directory)) return *known;
    if (const auto opened = open()) return mount.trusted.begin(directory, (*opened)->folder->fd());
  }
  return TrustedEntries::kNoWatch;
}

// Whether the kernel may trust an entry that was looked up after `watch` began.
template <class MountType>
bool may_trust(MountType& mount, fs::NodeId directory, TrustedEntries::Watch watch,
               std::string_view name, const fs::NodeEntry& entry) {
  if constexpr (requires { mount.trusted; }) {
    return entry.is_settled && entry.is_listed &&
           mount.trusted.grant(directory, watch, name, entry.id);
  }
  return false;
}

// The answer to a lookup, as FUSE takes it.  `MountType` is Mount or RemoteMount.
template <class MountType>
fuse_entry_param entry_param(const fs::NodeEntry& entry, const MountType& mount,
                             bool is_trusted = false) {
  constexpr double kTrustSeconds = TrustedEntries::kTrust.count();
  const double timeout_s = is_trusted ? kTrustSeconds : mount.attr_timeout_s;
  fuse_entry_param param{};
  param.ino = entry.id;
  // For the kernel, the root's generation is 0.
  param.generation = entry.id == fs::kRootNode ? 0 : entry.generation.value_or(mount.generation);
  param.attr = shown(mount, entry.stat);
  param.attr_timeout = timeout_s;
  param.entry_timeout = entry.is_listed ? timeout_s : 0;
  return param;
}

}  // namespace framefs::fuse

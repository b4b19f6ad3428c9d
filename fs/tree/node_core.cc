#include "fs/tree/node_core.h"

#include <utility>

namespace framefs::fs {
namespace {

AclRule acl_rule(const MountOptions& options) {
  if (options.acl) return AclRule::shown;
  return options.allow_other ? AclRule::narrowed : AclRule::ignored;
}

NodeKey root_key(const MountRoot& found) {
  return {found.entry.stat.st_dev, found.entry.stat.st_ino, found.shown_as, {}};
}

}  // namespace

NodeCore::NodeCore(const MountOptions& options, MountRoot found, ReadCore& reads,
                   SourceProbe::Watcher watcher, std::optional<SourceHandles> handles)
    : as_is_(options.as_is_globs),
      handles_(std::move(handles)),
      probe_(options.limits, options.source_offset, std::move(watcher), acl_rule(options),
             handles_ ? &*handles_ : nullptr),
      directory_names_(DirectoryNames::Bounds{.is_immutable = options.immutable}),
      namers_(reads.workers.threads()),
      names_(reads.workers, options.keep_suffix, options.arrays,
             options.immutable ? &namers_ : nullptr),
      locator_(std::move(found.root), root_key(found), options.source.string(), reads.log,
               handles_ ? &*handles_ : nullptr),
      containers_(locator_, reads.cache, reads.content_ids, reads.log, options.limits,
                  options.source_offset),
      folders_(options, found.expected, as_is_, locator_, containers_, probe_, directory_names_),
      node_probe_(found.expected, as_is_, locator_, probe_) {}

}  // namespace framefs::fs

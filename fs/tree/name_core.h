#pragma once

#include "fs/core/mount_options.h"
#include "fs/tree/changes/array_places.h"
#include "fs/tree/changes/entry_changes.h"
#include "fs/tree/changes/new_files.h"
#include "fs/tree/changes/new_names.h"
#include "fs/tree/changes/parent_folders.h"
#include "fs/tree/content_core.h"
#include "fs/tree/names/name_rules.h"
#include "fs/tree/node_core.h"
#include "fs/tree/source_tree.h"

namespace framefs::fs {

// The objects with which a mount changes the names in SOURCE: they open the directory of a name,
// find the name that an entry gets there, and create, move, remove and exchange entries.
// Threads: any number.
class NameCore {
 public:
  // Lifetime: the other objects outlive the `NameCore`.
  NameCore(const MountOptions& options, NodeCore& nodes, ContentCore& contents, SourceTree& tree)
      : rules_(options, nodes.as_is(), contents.writes().reads.log),
        parents_(tree, nodes.folders(), nodes.names(), rules_),
        new_names_(nodes.probe(), nodes.names()),
        new_files_(options, {.parents = parents_,
                             .probe = nodes.probe(),
                             .names = new_names_,
                             .as_is = nodes.as_is(),
                             .policy = contents.new_frames()}),
        entries_({.locator = nodes.locator(),
                  .names = new_names_,
                  .lock_files = contents.lock_files(),
                  .writers = contents.writers(),
                  .candidates = contents.candidates()}),
        arrays_({.parents = parents_,
                 .locator = nodes.locator(),
                 .candidates = contents.candidates(),
                 .new_files = new_files_,
                 .entries = entries_}) {}
  NameCore(const NameCore&) = delete;
  NameCore& operator=(const NameCore&) = delete;
  ~NameCore() = default;

  [[nodiscard]] const ParentFolders& parents() const noexcept { return parents_; }
  [[nodiscard]] const NewFiles& new_files() const noexcept { return new_files_; }
  [[nodiscard]] EntryChanges& entries() noexcept { return entries_; }
  [[nodiscard]] ArrayPlaces& arrays() noexcept { return arrays_; }

 private:
  // Each object refers only to those before it.  Self-synchronised.
  const NameRules rules_;
  const ParentFolders parents_;
  const NewNames new_names_;
  const NewFiles new_files_;
  EntryChanges entries_;
  ArrayPlaces arrays_;
};

}  // namespace framefs::fs

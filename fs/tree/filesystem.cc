#include "fs/tree/filesystem.h"

#include <utility>

namespace framefs::fs {

Result<std::unique_ptr<Filesystem>> Filesystem::open(const MountOptions& options, Log& log,
                                                     SourceProbe::Watcher watcher,
                                                     std::optional<SourceHandles> handles) {
  FRAMEFS_TRY(auto found, find_mount_root(options));
  const auto effective = options_for(found, options);
  return std::unique_ptr<Filesystem>(
      new Filesystem(effective, std::move(found), log, std::move(watcher), std::move(handles)));
}

Result<std::unique_ptr<Filesystem>> Filesystem::open_at(const MountOptions& options,
                                                        SourceRoot source, Log& log) {
  FRAMEFS_TRY(auto found, find_mount_root(options, std::move(source)));
  const auto effective = options_for(found, options);
  return std::unique_ptr<Filesystem>(
      new Filesystem(effective, std::move(found), log, nullptr, std::nullopt));
}

Filesystem::Filesystem(const MountOptions& options, MountRoot found, Log& log,
                       SourceProbe::Watcher watcher, std::optional<SourceHandles> handles)
    : reads_(options, log),
      nodes_(options, std::move(found), reads_, std::move(watcher), std::move(handles)),
      contents_(options, nodes_, reads_),
      tree_(options, {.locator = nodes_.locator(),
                      .folders = nodes_.folders(),
                      .names = nodes_.names(),
                      .snapshots = contents_.snapshots(),
                      .writes = contents_.writes()}),
      names_(options, nodes_, contents_, tree_),
      changes_({.tree = tree_,
                .views = contents_.views(),
                .writers = contents_.writers(),
                .arrays = names_.arrays(),
                .candidates = contents_.candidates()}),
      file_contents_(options, {.tree = tree_,
                               .writers = contents_.writers(),
                               .reads = contents_.content_reads(),
                               .changes = changes_,
                               .pages = contents_.pages()}),
      namespace_(options, {.tree = tree_,
                           .parents = names_.parents(),
                           .new_files = names_.new_files(),
                           .entries = names_.entries(),
                           .contents = file_contents_}),
      attributes_(options, {.tree = tree_,
                            .writers = contents_.writers(),
                            .changes = changes_,
                            .frames = contents_.xattrs()}),
      arrays_({.candidates = contents_.candidates(),
               .locator = nodes_.locator(),
               .containers = nodes_.containers(),
               .writes = contents_.writes(),
               .places = names_.arrays()}) {}

Losses Filesystem::finish() {
  arrays_.finish(contents_.writes().sessions.finish());
  return contents_.writes().table.losses();
}

bool Filesystem::is_being_written(NodeId id) const {
  const auto node = tree_.find(id);
  return node && contents_.writers().shown_session(**node) != nullptr;
}

}  // namespace framefs::fs

#include "fs/tree/filesystem.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace framefs::fs {
namespace {

// An array that is not shown as a .npy file, or not under that name, is no place for one.
// An array is another file in the same directory of SOURCE, which a mount of one file lacks.
bool makes_arrays(const MountOptions& options, const NewFramePolicy& new_frames,
                  const MountRoot& found) {
  return new_frames.makes_arrays() && !options.read_only && !options.keep_suffix &&
         options.arrays == ArrayViews::npy && found.shown_as == ShownAs::itself;
}

AclRule acl_rule(const MountOptions& options) {
  if (options.acl) return AclRule::shown;
  return options.allow_other ? AclRule::narrowed : AclRule::ignored;
}

NodeKey root_key(const MountRoot& found) {
  return {found.entry.stat.st_dev, found.entry.stat.st_ino, found.shown_as, {}};
}

}  // namespace

Result<std::unique_ptr<Filesystem>> Filesystem::open(const MountOptions& options, Log& log,
                                                     SourceProbe::Watcher watcher,
                                                     std::optional<SourceHandles> handles) {
  FRAMEFS_TRY(auto found, find_mount_root(options));
  auto effective = options;
  effective.read_only = why_read_only(options, found) != nullptr;
  return std::unique_ptr<Filesystem>(
      new Filesystem(effective, log, std::move(found), std::move(watcher), std::move(handles)));
}

Result<std::unique_ptr<Filesystem>> Filesystem::open_at(const MountOptions& options,
                                                        SourceRoot source, Log& log) {
  FRAMEFS_TRY(auto found, find_mount_root(options, std::move(source)));
  auto effective = options;
  effective.read_only = why_read_only(options, found) != nullptr;
  return std::unique_ptr<Filesystem>(
      new Filesystem(effective, log, std::move(found), nullptr, std::nullopt));
}

Filesystem::Filesystem(const MountOptions& options, Log& log, MountRoot found,
                       SourceProbe::Watcher watcher, std::optional<SourceHandles> handles)
    : options_(options),
      new_frames_(options.write),
      as_is_(options.as_is_globs),
      handles_(std::move(handles)),
      log_(log),
      reads_(options, log),
      ahead_(options.threads, options.cache_bytes),
      probe_(options.limits, options.source_offset, std::move(watcher), acl_rule(options),
             handles_ ? &*handles_ : nullptr),
      directory_names_(DirectoryNames::Bounds{.is_immutable = options.immutable}),
      name_map_(reads_.workers, options.keep_suffix, options.arrays),
      locator_(std::move(found.root), root_key(found), options.source.string(), log_,
               handles_ ? &*handles_ : nullptr),
      containers_(locator_, reads_.cache, reads_.content_ids, log_, options.limits,
                  options.source_offset),
      folders_(options, found.expected, as_is_, locator_, containers_, probe_, directory_names_),
      name_rules_(options, as_is_, log_),
      views_(options, locator_.nodes(), containers_, reads_.services(options.verify_checksums)),
      array_candidates_(makes_arrays(options, new_frames_, found), locator_, new_frames_),
      writes_(options, reads_,
              [this](const FileKey& file, const FileIdentity& identity) {
                views_.end_session(file, identity);
                array_candidates_.note_end(file);
              }),
      pages_(
          [this](const OpenFile& file, ContentId content) {
            return !writes_.table.find(file_key(*file.node)) && views_.is_settled(file, content);
          },
          static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))),
      lock_files_(locator_, writes_.table, directory_names_,
                  {.creates = options.locking, .shares = !options.immutable}),
      writers_({.locator = locator_,
                .lock_files = lock_files_,
                .new_frames = new_frames_,
                .core = writes_,
                .pages = pages_}),
      node_probe_(found.expected, as_is_, locator_, probe_),
      snapshots_(locator_.nodes(), node_probe_, containers_, writes_.table),
      tree_(options, {.locator = locator_,
                      .folders = folders_,
                      .names = name_map_,
                      .snapshots = snapshots_,
                      .writes = writes_}),
      parents_(tree_, folders_, name_map_, name_rules_),
      new_names_(probe_, name_map_),
      new_files_(options, {.parents = parents_,
                           .probe = probe_,
                           .names = new_names_,
                           .as_is = as_is_,
                           .policy = new_frames_}),
      entries_({.locator = locator_,
                .names = new_names_,
                .lock_files = lock_files_,
                .writers = writers_,
                .candidates = array_candidates_}),
      array_places_({.parents = parents_,
                     .locator = locator_,
                     .candidates = array_candidates_,
                     .new_files = new_files_,
                     .entries = entries_}),
      content_reads_(options, lock_files_, views_, writers_, ahead_),
      changes_({.tree = tree_,
                .views = views_,
                .writers = writers_,
                .arrays = array_places_,
                .candidates = array_candidates_}),
      contents_(options, {.tree = tree_,
                          .writers = writers_,
                          .reads = content_reads_,
                          .changes = changes_,
                          .pages = pages_}),
      namespace_(options, {.tree = tree_,
                           .parents = parents_,
                           .new_files = new_files_,
                           .entries = entries_,
                           .contents = contents_}),
      frame_xattrs_(options, locator_, containers_, lock_files_, writers_),
      attributes_(
          options,
          {.tree = tree_, .writers = writers_, .changes = changes_, .frames = frame_xattrs_}),
      arrays_({.candidates = array_candidates_,
               .locator = locator_,
               .containers = containers_,
               .writes = writes_,
               .places = array_places_}) {}

Filesystem::~Filesystem() { finish(); }

Losses Filesystem::finish() {
  arrays_.finish(writes_.sessions.finish());
  return writes_.table.losses();
}

bool Filesystem::is_being_written(NodeId id) const {
  const auto node = tree_.find(id);
  return node && writers_.shown_session(**node) != nullptr;
}

Activity Filesystem::activity() {
  return {.is_read_only = is_read_only(),
          .cache = reads_.cache.counts(),
          .cache_held_bytes = reads_.cache.held_bytes(),
          .pushed_bytes = pages_.pushed_bytes(),
          .ahead = ahead_.counts(),
          .writes = {.dirty_bytes = writes_.overlay.used(),
                     .stored_bytes = writes_.chunk_writer.stored_bytes(),
                     .commits = writes_.commits.done.value(),
                     .failed_commits = writes_.commits.failed.value(),
                     .compactions = writes_.commits.compactions.value()}};
}

}  // namespace framefs::fs

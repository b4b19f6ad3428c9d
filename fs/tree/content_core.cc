#include "fs/tree/content_core.h"

#include <unistd.h>

#include <cstdint>

namespace framefs::fs {
namespace {

// An array that is not shown as a .npy file, or not under that name, is no place for one.
// An array is another file in the same directory of SOURCE, which a mount of one file lacks.
bool makes_arrays(const MountOptions& options, const NewFramePolicy& new_frames,
                  const NodeTable& nodes) {
  return new_frames.makes_arrays() && !options.read_only && !options.keep_suffix &&
         options.arrays == ArrayViews::npy && nodes.root()->key.shown_as == ShownAs::itself;
}

}  // namespace

ContentCore::ContentCore(const MountOptions& options, NodeCore& nodes, ReadCore& reads)
    : new_frames_(options.write),
      ahead_(options.threads, options.cache_bytes),
      views_(options, nodes.locator().nodes(), nodes.containers(),
             reads.services(options.verify_checksums)),
      candidates_(makes_arrays(options, new_frames_, nodes.locator().nodes()), nodes.locator(),
                  new_frames_),
      writes_(options, reads,
              [this](const FileKey& file, const FileIdentity& identity) {
                views_.end_session(file, identity);
                candidates_.note_end(file);
              }),
      pages_(
          [this](const OpenFile& file, ContentId content) {
            return !writes_.table.find(file_key(*file.node)) && views_.is_settled(file, content);
          },
          static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))),
      lock_files_(nodes.locator(), writes_.table, nodes.directory_names(),
                  {.creates = options.locking, .shares = !options.immutable}),
      writers_({.locator = nodes.locator(),
                .lock_files = lock_files_,
                .new_frames = new_frames_,
                .core = writes_,
                .pages = pages_}),
      snapshots_(nodes.locator().nodes(), nodes.node_probe(), nodes.containers(), writes_.table),
      content_reads_(options, lock_files_, views_, writers_, ahead_),
      xattrs_(options, nodes.locator(), nodes.containers(), lock_files_, writers_) {}

Activity ContentCore::activity(bool is_read_only) {
  auto& cache = writes_.reads.cache;
  return {.is_read_only = is_read_only,
          .cache = cache.counts(),
          .cache_held_bytes = cache.held_bytes(),
          .pushed_bytes = pages_.pushed_bytes(),
          .ahead = ahead_.counts(),
          .writes = {.dirty_bytes = writes_.overlay.used(),
                     .stored_bytes = writes_.chunk_writer.stored_bytes(),
                     .commits = writes_.commits.done.value(),
                     .failed_commits = writes_.commits.failed.value(),
                     .compactions = writes_.commits.compactions.value()}};
}

}  // namespace framefs::fs

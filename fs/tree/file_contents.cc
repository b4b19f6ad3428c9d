#include "fs/tree/file_contents.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace framefs::fs {
namespace {

// Whether a handle that opens the content `now` needs no view before it is read: that content is
// known to be readable, nobody writes it, and no lock file has to be asked.
bool is_known_readable(const Node& node, const ContentState& now) {
  if (now.session_id != 0) return false;
  return node.state.with([&](const Node::State& state) {
    const auto& [_, content, pages, lock_file] = state;
    return content.is_readable(now.identity) && !lock_file.exists() &&
           lock_file.is_of(content.id());
  });
}

}  // namespace

Result<OpenedFile> FileContents::open(NodeId id, int flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  const bool truncates = (flags & O_TRUNC) != 0;
  auto opened = parts_.tree.with_node(id, [&](std::shared_ptr<Node> node) -> Result<OpenedFile> {
    if (writes) FRAMEFS_CHECK(parts_.tree.check_writable(*node));
    if (truncates) FRAMEFS_CHECK(parts_.changes.replace_truncated(*node));
    FRAMEFS_TRY(auto source, writes ? parts_.writers.open(*node, flags)
                                    : parts_.tree.locator().open_file(*node));
    return open_as(std::move(node), std::move(source), flags, nullptr);
  });
  if (!opened || !truncates) return opened;
  auto& file = *opened->file;
  if (const auto cut = parts_.changes.truncate(*file.node, &file, 0); !cut) {
    close(file);
    return std::unexpected(cut.error());
  }
  return opened;
}

Result<ContentState> FileContents::content_now(const OpenFile& file) const {
  return parts_.writers.content_state(*file.node, [&] { return file.source.content_stat(); });
}

// With --writeback, the kernel keeps its own size of a file that it knows, and appends there. After
// another program has changed the frame, the kernel must therefore know it as another file.
// Errors: ESTALE if the frame has changed; the kernel then looks the name up again.
Status FileContents::check_kernel_size(const OpenFile& file) const {
  const auto& node = *file.node;
  if (!node.key.shows_frame() || node.key.is_member() || node.is_exported()) return {};
  FRAMEFS_TRY(const auto now, content_now(file));
  if (now.session_id != 0) return {};
  const bool is_known = node.state.with(
      [&](const Node::State& state) { return state.pages.may_have_size_of(now.identity); });
  if (is_known) return {};
  parts_.tree.locator().nodes().detach(node);
  return system_error_of(ESTALE, "open of a frame that another program has changed");
}

// Counts a new handle.  Errors: ESTALE if another file has taken the place of this one since the
// handle was made.
Status FileContents::count_handle(OpenFile& file) const {
  auto& node = *file.node;
  const auto count = [&] {
    return node.state.with([&](Node::State& state) {
      if (!state.handles.add(file.is_mappable)) return false;
      file.keeper = state.handles.share(file.source.file());
      return true;
    });
  };
  if (count()) return {};
  parts_.tree.locator().wait_for_renames();  // it may fail
  return count() ? Status{} : system_error_of(ESTALE, "open");
}

Result<bool> FileContents::bypasses_pages(const OpenFile& file, bool is_written) const {
  const auto& key = file.node->key;
  // Pages of one node of a file do not contain the bytes that were written through another.
  if (is_written) {
    return key.by_full_name || (arrays_ == ArrayViews::both && key.shown_as != ShownAs::frame);
  }
  if (!key.has_view()) {
    if (!file.source.file()) return system_error_of(EISDIR, "open");
    return false;
  }
  FRAMEFS_TRY(const bool is_readable, parts_.reads.is_readable(file));
  return !is_readable;
}

Result<OpenedFile> FileContents::open_as(std::shared_ptr<Node> node, BackingFile source, int flags,
                                         const NewFile* new_file) {
  OpenedFile opened;
  opened.file =
      std::make_unique<OpenFile>(std::move(node), std::move(source), parts_.reads.new_pattern());
  auto& file = *opened.file;
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  file.is_mappable = (flags & O_ACCMODE) == O_RDWR;
  if (has_writeback_ && new_file == nullptr) FRAMEFS_CHECK(check_kernel_size(file));
  if (writes && file.node->key.has_view()) {
    FRAMEFS_TRY(auto joined, parts_.writers.join(*file.node, file.source, new_file));
    file.session.set(std::move(joined));
  }
  // The session of a new file has just been made: no other program needs to be looked for yet.
  const auto session = file.session.get();
  const auto now = new_file == nullptr
                       ? content_now(file)
                       : Result<ContentState>(ContentState{identity_of(new_file->stat),
                                                           session ? session->id() : 0});
  if (!now) {
    leave(file);
    return std::unexpected(now.error());
  }
  file.had_bytes = now->identity.size > 0;
  FRAMEFS_CHECK(parts_.reads.check_unchanged(*file.node, now->identity));
  if (const auto counted = count_handle(file); !counted) {
    leave(file);
    return std::unexpected(counted.error());
  }
  opened.keep_pages =
      file.node->state.with([&](Node::State& state) { return state.pages.open(*now); });
  // The kernel drops its pages with the reply; no page of an earlier state may follow.
  if (!opened.keep_pages) parts_.pages.drain(file_key(*file.node));
  // A view is not made for a handle that the kernel serves from its pages.
  const bool is_known = opened.keep_pages && is_known_readable(*file.node, *now);
  const auto bypasses = is_known ? Result<bool>(false) : bypasses_pages(file, now->session_id != 0);
  if (!bypasses) {
    close(file);
    return std::unexpected(bypasses.error());
  }
  opened.bypass_pages = *bypasses;
  opened.habit = expected_habit(*file.node);
  return opened;
}

// numpy.load(mmap_mode=) reads the header through one handle, and keeps it while it opens the array
// once more to map it.  Slices of a mapped array are jumps.
ReadHabit FileContents::expected_habit(const Node& node) const {
  const auto last = habits_.of(NodeKeyHash{}(node.key));
  if (last != ReadHabit::unknown || node.key.shown_as != ShownAs::npy) return last;
  const bool is_open_twice =
      node.state.with([](const Node::State& state) { return state.handles.count() > 1; });
  return is_open_twice ? ReadHabit::jumps : ReadHabit::unknown;
}

Result<std::shared_ptr<OpenFile>> FileContents::open_reader(NodeId id) {
  FRAMEFS_TRY(auto opened, open(id, O_RDONLY));
  const auto end = [this](OpenFile* file) {
    const std::unique_ptr<OpenFile> last(file);
    close(*file);
  };
  return std::shared_ptr<OpenFile>(opened.file.release(), end);
}

void FileContents::close(const OpenFile& file) {
  habits_.note(NodeKeyHash{}(file.node->key), file.pattern->habit());
  // The last handle releases the view and its descriptor; the cached blocks stay valid.
  ShownContent::Dropped dropped;
  const bool writes = file.session.get() != nullptr;
  const bool is_end_of_writing = file.node->state.with([&](Node::State& state) {
    if (!state.handles.remove(file.is_mappable, writes)) return false;
    dropped = state.content.release();
    return state.handles.take_written();
  });
  leave(file);
  if (is_end_of_writing) parts_.changes.note_end_of_writing(file_key(*file.node));
}

void FileContents::leave(const OpenFile& file) const {
  if (const auto session = file.session.get()) parts_.writers.leave(*file.node, session);
}

}  // namespace framefs::fs

#include "fs/tree/nodes/node_probe.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "fs/source/suffixes.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fs {

// The content to look for at a path in SOURCE, or, if it is empty, in a file without a known name.
Expected NodeProbe::expected_at(const Node& node, const std::string& path) const {
  if (path.empty()) {
    return node.key.shown_as == ShownAs::frame ? Expected::frame : Expected::array;
  }
  if (path == locator_.root().path()) return expected_;
  return as_is_.covers(path) ? Expected::nothing : expected_content(name_part(path));
}

Result<SourceEntry> NodeProbe::entry(const Node& node, const FrameSummary* known) const {
  const int flags = node.key.has_view() ? O_RDONLY | O_NONBLOCK : O_PATH | O_NOFOLLOW;
  const auto by_path = [&](const std::string& path) { return probe_at(path, node, known); };
  const auto by_descriptor = [&](int held) -> Result<SourceEntry> {
    FRAMEFS_TRY(auto fd, reopen(held, flags));
    return probe_opened(node, std::move(fd));
  };
  auto found = locator_.where_it_is(node, by_path, by_descriptor);
  if (found || !NodeLocator::is_elsewhere(found.error())) return found;
  if (node.is_exported()) {
    FRAMEFS_TRY(auto fd, locator_.open_by_handle(node, flags));
    return probe_opened(node, std::move(fd));
  }
  const auto open = node.state.with([](const Node::State& state) { return state.handles.file(); });
  if (!open) return NodeLocator::missing(found.error());
  // Another program has removed the file, or put another one in its place.
  FRAMEFS_TRY(auto fd, reopen(open->fd(), flags));
  return probe_opened(node, std::move(fd));
}

// The same for an open file, which is an O_PATH descriptor unless the node has a view.
Result<SourceEntry> NodeProbe::probe_opened(const Node& node, UniqueFd fd) const {
  if (node.key.has_view()) {
    FRAMEFS_TRY(const auto file, BackingFile::adopt(std::move(fd)));
    return entry_of(file, node);
  }
  SourceEntry entry;
  FRAMEFS_TRY(entry.stat, probe_.stat_open(fd.get()));
  return entry;
}

Result<SourceEntry> NodeProbe::probe_at(const std::string& path, const Node& node,
                                        const FrameSummary* known) const {
  const auto above = directory_part(path);
  FRAMEFS_TRY(const auto directory,
              locator_.open_path(above.empty() ? "." : above, O_PATH | O_DIRECTORY));
  FRAMEFS_TRY(const auto entry, probe_.probe_as(directory.get(), name_part(path),
                                                expected_at(node, path), known, path));
  const bool is_other = node.is_exported() && entry.generation != node.generation;
  if (is_other || !names_source(node.key, entry.stat)) return system_error_of(ESTALE, "stat");
  return entry;
}

Result<SourceEntry> NodeProbe::entry_at(int fd, const Node& node, const FrameSummary& known) const {
  FRAMEFS_TRY(auto found, probe_.probe_known(fd, known));
  // The descriptor of a sparse frame is that of its index.
  if (!names_source(node.key, found.stat)) return entry(node, &known);
  return found;
}

Result<SourceEntry> NodeProbe::entry_of(const BackingFile& file, const Node& node) const {
  SourceEntry entry;
  const auto stat_of_source = [&](int fd) {
    return file.is_sparse() ? probe_.stat_part(fd) : probe_.stat_open(fd);
  };
  FRAMEFS_TRY(entry.stat, stat_of_source(file.fd()));
  if (!node.key.has_view()) return entry;
  FRAMEFS_TRY(const auto content, file.open_content());
  FRAMEFS_TRY(const auto st, stat_of_source(content->fd()));
  if (file.is_sparse()) entry.index_stat = st;
  entry.summary =
      probe_.probe_open(*content, st, expected_at(node, locator_.nodes().path_of(node)));
  return entry;
}

Result<SourceEntry> NodeProbe::entry_of(const FrameWriteSession& session, const Node& node) const {
  SourceEntry entry;
  FRAMEFS_TRY(entry.stat, probe_.stat_part(session.sync_fd()));
  FRAMEFS_TRY(auto index, reopen(session.content_fd(), O_RDONLY));
  FRAMEFS_TRY(entry.index_stat, probe_.stat_part(index.get()));
  entry.summary = probe_.probe_open(FileReader(std::move(index)), *entry.index_stat,
                                    expected_at(node, locator_.nodes().path_of(node)));
  return entry;
}

}  // namespace framefs::fs

#include "src/cli/source_walk.h"

#include <dirent.h>

#include <memory>
#include <utility>

#include "fs/net/store/source_url.h"
#include "fs/source/sparse_frame.h"
#include "fs/source/suffixes.h"
#include "src/cli/path_lookup.h"
#include "src/cli/remote_walk.h"

namespace framefs {
namespace {

bool is_frame_or_container(const fs::DirectoryEntry& entry) {
  const auto expected = fs::expected_content(entry.source.name);
  return entry.shown.shown_as != fs::ShownAs::itself ||
         (entry.source.type == DT_REG && expected != fs::Expected::nothing);
}

}  // namespace

bool SourceWalk::walk(const std::string& argument, std::uint64_t offset) {
  if (net::is_source_url(argument)) return walk_url(argument);
  const bool is_directory = is_tree(argument);
  if (is_directory) {
    walk_directory(argument, offset);
  } else {
    visit_given(argument, offset);
  }
  return is_directory;
}

void SourceWalk::walk_directory(const std::string& top, std::uint64_t offset) {
  const auto visit = [&](const fs::Place& place) {
    CollectedLog log;
    auto found = fs::open_source_at(place, offset, limits_, log.log());
    return visit_({.path = place.path(),
                   .file = place.path(),
                   .is_member = false,
                   .place = place,
                   .found = std::move(found)},
                  log);
  };
  walk_frames(filter_, top, visit, fail_);
}

void SourceWalk::visit_given(const std::string& path, std::uint64_t offset) {
  CollectedLog log;
  auto named = fs::open_named_source(path, offset, limits_, log.log());
  VisitedSource source{.path = path,
                       .file = path,
                       .is_member = false,
                       .place = std::nullopt,
                       .found = std::unexpected(codec::Error{})};
  if (!named) {
    source.found = std::unexpected(named.error());
    if (auto place = fs::Place::given(path)) source.place = std::move(*place);
  } else {
    source.file = named->file.path();
    source.is_member = !named->member.empty();
    if (!source.is_member) source.place = named->file;
    source.found = std::move(*named);
  }
  visit_(source, log);
}

codec::Result<std::unique_ptr<fs::RemoteTree>> SourceWalk::open_tree(const std::string& url,
                                                                     CollectedLog& log) {
  fs::MountOptions options;
  options.source = url;
  options.keep_suffix = true;
  return remote_.tree(options, log.log());
}

bool SourceWalk::walk_url(const std::string& url) {
  const auto shown = net::shown_source(url);
  if (const auto member = split_at_container(url)) {
    visit_below(*member, shown);
    return false;
  }
  CollectedLog log;
  const auto tree = open_tree(url, log);
  if (!tree) {
    fail_(shown, tree.error());
    return false;
  }
  const auto root = (*tree)->find(fs::kRootNode);
  const auto shown_as = root ? (*root)->key.shown_as : fs::ShownAs::itself;
  if (shown_as == fs::ShownAs::container) {
    visit_node(**tree, fs::kRootNode, shown, log);
    return false;
  }
  // Below the prefix of a sparse frame are its chunks; the frame is an entry of the prefix above.
  const auto frame = split_at_frame(url);
  if (frame && !(*tree)->is_single_entry() &&
      (*tree)->lookup(fs::kRootNode, std::string(fs::kSparseIndexName))) {
    visit_below(*frame, shown);
    return false;
  }
  walk_folders(**tree, shown, log);
  return shown_as == fs::ShownAs::itself;
}

void SourceWalk::visit_below(const UrlParts& url, const std::string& shown) {
  CollectedLog log;
  const auto tree = open_tree(url.source, log);
  if (!tree) {
    fail_(shown, tree.error());
    return;
  }
  const auto root = (*tree)->find(fs::kRootNode);
  const auto found =
      find_path({.id = fs::kRootNode}, url.path,
                [&](fs::NodeId node, const auto& name) { return (*tree)->lookup(node, name); });
  if (!found) {
    fail_(shown, found.error());
    return;
  }
  const bool is_member = root && (*root)->key.shown_as == fs::ShownAs::container;
  visit_({.path = shown,
          .file = is_member ? net::shown_source(url.source) : shown,
          .is_member = is_member,
          .place = std::nullopt,
          .found = (*tree)->open_source(found->id)},
         log);
}

void SourceWalk::walk_folders(fs::RemoteTree& tree, const std::string& url, CollectedLog& log) {
  const bool is_single = tree.is_single_entry();
  RemoteWalk walk(tree);
  const auto url_of = [&](const std::string& path) {
    if (is_single || path.empty()) return url;
    return url + (url.ends_with('/') ? "" : "/") + path;
  };
  const auto enter = [&](fs::NodeId node, const std::string& path) {
    const auto entered = walk.enter(node, path);
    if (!entered) fail_(url_of(path), entered.error());
  };
  enter(fs::kRootNode, "");
  while (const auto next = walk.next()) {
    const auto& [folder, entry, path] = *next;
    const auto shown = url_of(path);
    if (!is_single && filter_.excludes(path)) continue;
    const bool is_wanted = is_single || (is_frame_or_container(entry) && filter_.takes(path));
    const bool is_directory =
        entry.shown.shown_as == fs::ShownAs::itself && entry.source.type == DT_DIR;
    if (!is_wanted && !is_directory) continue;
    const auto found = tree.lookup(*folder, entry);
    if (!found) {
      fail_(shown, found.error());
      continue;
    }
    if (is_directory) {
      enter(found->id, path);
    } else if (!visit_node(tree, found->id, shown, log)) {
      return;
    }
    tree.forget(found->id, 1);
  }
}

bool SourceWalk::visit_node(fs::RemoteTree& tree, fs::NodeId node, const std::string& path,
                            CollectedLog& log) {
  return visit_({.path = path,
                 .file = path,
                 .is_member = false,
                 .place = std::nullopt,
                 .found = tree.open_source(node)},
                log);
}

}  // namespace framefs

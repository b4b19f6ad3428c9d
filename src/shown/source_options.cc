#include "src/shown/source_options.h"

#include <cerrno>

#include "fs/core/diagnostics/error_map.h"
#include "fs/net/store/object_store.h"
#include "fs/net/store/source_url.h"
#include "fs/source/sparse_frame.h"
#include "src/cli/collected_log.h"
#include "src/cli/remote_access.h"
#include "src/cli/remote_opener.h"
#include "src/cli/url_parts.h"

namespace framefs {

void add_source_options(CLI::App& app, SourceCommand& command, const std::string& about_paths) {
  app.add_option("SOURCE", command.source,
                 "A directory, one frame, one container, or a URL: s3://, http(s)://, dav(s)://")
      ->transform(path_or_url())
      ->required();
  app.add_option("PATH", command.paths, about_paths);
  add_remote_access_options(app, command.remote);
}

namespace {

// Opens SOURCE, or the container of which it names a member, whose path is then returned.
codec::Result<std::unique_ptr<ShownTree>> open_source(const std::string& source,
                                                      std::string& member, RemoteOpener& remote,
                                                      fs::Log& log) {
  const bool is_url = net::is_source_url(source);
  fs::MountOptions options;
  options.source = source;
  if (const auto parts = is_url ? split_at_container(source) : std::nullopt) {
    options.source = parts->source;
    member = parts->path;
  }
  auto tree = ShownTree::open(options, remote, log);
  const auto frame = tree && is_url ? split_at_frame(source) : std::nullopt;
  if (frame && (*tree)->lookup(fs::kRootNode, std::string(fs::kSparseIndexName))) {
    return fs::refusal(EISDIR,
                       "this is one sparse frame; SOURCE is the prefix that holds it, and "
                       "the name of the frame there is the PATH");
  }
  return tree;
}

}  // namespace

bool show_each(const SourceCommand& command,
               const std::function<codec::Status(ShownTree&, const std::string&)>& show) {
  RemoteOpener remote(command.remote);
  CollectedLog log;
  std::string member;
  const auto tree = open_source(command.source, member, remote, log.log());
  if (!tree) {
    print_messages(log.take_failure(net::shown_source(command.source), tree.error()));
    return false;
  }
  const std::vector<std::string> whole(1);
  bool all = true;
  for (const auto& path : command.paths.empty() ? whole : command.paths) {
    const auto shown = show(**tree, net::join_path(member, path));
    if (shown) continue;
    all = false;
    if (shown.error().kind == codec::Errc::system && shown.error().sys == EPIPE) break;
    print_messages(
        log.take_failure(path.empty() ? net::shown_source(command.source) : path, shown.error()));
  }
  print_messages(log.take_lines());
  return all;
}

}  // namespace framefs

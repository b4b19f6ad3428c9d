#include "src/shown/source_options.h"

#include <cerrno>

#include "fs/net/store/source_url.h"
#include "src/cli/collected_log.h"
#include "src/cli/remote_access.h"
#include "src/cli/remote_opener.h"

namespace framefs {

void add_source_options(CLI::App& app, SourceCommand& command, const std::string& about_paths) {
  app.add_option("SOURCE", command.source,
                 "A directory, one frame, one container, or a URL: s3://, http(s)://, dav(s)://")
      ->transform(path_or_url())
      ->required();
  app.add_option("PATH", command.paths, about_paths);
  add_remote_access_options(app, command.remote);
}

bool show_each(const SourceCommand& command,
               const std::function<codec::Status(ShownTree&, const std::string&)>& show) {
  RemoteOpener remote(command.remote);
  CollectedLog log;
  fs::MountOptions options;
  options.source = command.source;
  const auto tree = ShownTree::open(options, remote, log.log());
  if (!tree) {
    print_messages(log.take_failure(net::shown_source(command.source), tree.error()));
    return false;
  }
  const std::vector<std::string> whole(1);
  bool all = true;
  for (const auto& path : command.paths.empty() ? whole : command.paths) {
    const auto shown = show(**tree, path);
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

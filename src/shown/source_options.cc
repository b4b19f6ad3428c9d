#include "src/shown/source_options.h"

#include "src/cli/remote_access.h"

namespace framefs {

void add_source_options(CLI::App& app, SourceCommand& command, const std::string& about_paths) {
  app.add_option("SOURCE", command.source,
                 "A directory, one frame, one container, or a URL: s3://, http(s)://, dav(s)://")
      ->transform(path_or_url())
      ->required();
  app.add_option("PATH", command.paths, about_paths);
  add_remote_access_options(app, command.remote);
}

}  // namespace framefs

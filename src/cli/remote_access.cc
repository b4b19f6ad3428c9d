#include "src/cli/remote_access.h"

namespace framefs {

void add_remote_access_options(CLI::App& app, fs::RemoteOptions& remote) {
  app.add_option("--endpoint", remote.endpoint, "An S3 server other than AWS")->option_text("URL");
  app.add_option("--region", remote.region, "The region of an S3 bucket")->option_text("NAME");
  app.add_option("--profile", remote.profile, "A profile of ~/.aws/config")->option_text("NAME");
  app.add_flag("--anonymous", remote.anonymous, "Do not sign requests to S3");
  app.add_option("--cacert", remote.ca_file, "Certificates to trust instead of the system's")
      ->option_text("FILE");
}

}  // namespace framefs

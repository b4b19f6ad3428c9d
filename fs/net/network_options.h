#pragma once

#include <chrono>
#include <string>

namespace framefs::net {

// The options for a mount's connections to servers.
struct NetworkOptions {
  // A file of certificates to trust instead of the system's; "" for those.
  std::string ca_file;
  // The content of that file, if it could be read.  The sandbox hides the file.
  std::string ca_certificates;
  // The certificates of the system, where libcurl does not find them by itself; else "".
  std::string system_ca_file;
  std::string user_agent = "framefs";
  std::chrono::milliseconds connect_timeout{10'000};
  // A transfer that moves no byte for this long has failed.
  std::chrono::seconds stall_timeout{10};
};

}  // namespace framefs::net

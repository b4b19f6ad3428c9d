#pragma once

#include <string>
#include <vector>

namespace framefs::net {

// The files and directories that libcurl, OpenSSL and the C library read while they talk to
// servers: for names of hosts, for certificates, and for logins (.netrc).  Some may not exist.
// Threads: only while no other thread changes the environment.
std::vector<std::string> network_files();

// The version of libcurl and of its TLS library.
std::string libcurl_version();

}  // namespace framefs::net

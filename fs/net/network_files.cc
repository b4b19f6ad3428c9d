#include "fs/net/network_files.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include <curl/curl.h>

#include "fs/net/http/system_certificates.h"

namespace framefs::net {
namespace {

// The resolver reads these again when they change.
constexpr std::array kResolverFiles = {"/etc/gai.conf",    "/etc/host.conf",     "/etc/hosts",
                                       "/etc/ld.so.cache", "/etc/nsswitch.conf", "/etc/resolv.conf",
                                       "/etc/services"};
// The services that write the target of /etc/resolv.conf replace it there.
constexpr std::array kResolverDirectories = {"/run/resolvconf", "/run/systemd/resolve"};
// Certificates, and settings of OpenSSL.  Directories next to them hold private keys.
constexpr std::array kCertificates = {"/etc/crypto-policies",
                                      "/etc/pki/ca-trust/extracted",
                                      "/etc/pki/tls/certs",
                                      "/etc/pki/tls/openssl.cnf",
                                      "/etc/ssl/certs",
                                      "/etc/ssl/openssl.cnf",
                                      "/usr/local/share/ca-certificates",
                                      "/usr/share/ca-certificates",
                                      "/usr/share/crypto-policies",
                                      "/var/lib/ca-certificates"};

}  // namespace

std::vector<std::string> network_files() {
  std::vector<std::string> files(kResolverDirectories.begin(), kResolverDirectories.end());
  files.insert(files.end(), kCertificates.begin(), kCertificates.end());
  if (::geteuid() == 0) {
    files.insert(files.end(), kResolverFiles.begin(), kResolverFiles.end());
  } else {
    // Programs replace the files in /etc.  An ordinary user can read no secret of others there.
    files.emplace_back("/etc");
    files.emplace_back("/run/NetworkManager");
  }
  const auto* const built_in = curl_version_info(CURLVERSION_NOW);
  for (const char* const path : {built_in->cainfo, built_in->capath}) {
    if (path != nullptr) files.emplace_back(path);
  }
  if (auto path = system_certificates(built_in->cainfo); !path.empty())
    files.push_back(std::move(path));
  if (const char* const home = std::getenv("HOME")) files.push_back(std::string(home) + "/.netrc");
  return files;
}

std::string libcurl_version() {
  const auto* const info = ::curl_version_info(CURLVERSION_NOW);
  std::string text = info->version;
  if (info->ssl_version != nullptr) text += std::string(" (") + info->ssl_version + ")";
  return text;
}

}  // namespace framefs::net

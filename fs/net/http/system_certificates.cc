#include "fs/net/http/system_certificates.h"

#include <array>
#include <system_error>

namespace framefs::net {
namespace {

constexpr std::array kCertificateFiles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL, Amazon Linux
    "/etc/pki/tls/certs/ca-bundle.crt",                   // the same, older
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // Alpine without ca-certificates
};

std::filesystem::path below(const std::filesystem::path& root, const char* path) {
  return root / std::filesystem::path(path).relative_path();
}

}  // namespace

std::string system_certificates(const char* built_in, const std::filesystem::path& root) {
  std::error_code error;
  if (built_in != nullptr && std::filesystem::exists(below(root, built_in), error)) return {};
  for (const auto* const file : kCertificateFiles) {
    if (std::filesystem::exists(below(root, file), error)) return below(root, file).string();
  }
  return {};
}

}  // namespace framefs::net

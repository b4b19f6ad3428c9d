#include "fs/net/http/system_certificates.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace framefs::net::system_certificates_test {
namespace {

constexpr const char* kBuiltIn = "/etc/built/in.pem";

void make_file(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << "certificates";
}

TEST_CASE("system_certificates: a system without any", "[net][unit]") {
  const test::TempDirectory root;
  CHECK(system_certificates(kBuiltIn, root.path()).empty());
}

TEST_CASE("system_certificates: the places of other distributions", "[net][unit]") {
  for (const std::string place :
       {"etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "etc/pki/tls/certs/ca-bundle.crt",
        "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem"}) {
    const test::TempDirectory root;
    make_file(root.path() / place);
    CHECK(system_certificates(kBuiltIn, root.path()) == root.path() / place);
    CHECK(system_certificates(nullptr, root.path()) == root.path() / place);
  }
}

TEST_CASE("system_certificates: libcurl needs no help where it was built for", "[net][unit]") {
  const test::TempDirectory root;
  make_file(root.path() / "etc/built/in.pem");
  make_file(root.path() / "etc/ssl/cert.pem");
  CHECK(system_certificates(kBuiltIn, root.path()).empty());
}

}  // namespace
}  // namespace framefs::net::system_certificates_test

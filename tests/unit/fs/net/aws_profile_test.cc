#include "fs/net/credentials/aws_profile.h"

#include <stdlib.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace framefs::net::aws_profile_test {
namespace {

constexpr const char* kConfig = R"(
# a comment
[default]
region = eu-central-1   # another
[profile lab]
region=us-west-2
endpoint_url = http://127.0.0.1:7480
s3 =
  addressing_style = path
  max_concurrent_requests = 20
output = json
)";
constexpr const char* kCredentials = R"(
[default]
aws_access_key_id = DEFAULTKEY
aws_secret_access_key = a#b;c=d/e+f
[lab]
aws_access_key_id=LABKEY
aws_secret_access_key=labsecret
)";

TEST_CASE("aws_profile: sections, comments and nested groups", "[net][aws_profile][unit]") {
  const auto file = parse_ini(kConfig);
  REQUIRE(file.contains("profile lab"));
  const auto& lab = file.at("profile lab");
  CHECK(file.at("default").at("region") == "eu-central-1");
  CHECK(lab.at("s3.addressing_style") == "path");
  CHECK(lab.at("s3.max_concurrent_requests") == "20");
  CHECK(lab.at("output") == "json");
  CHECK(parse_ini("x = 1\n[a]\nno equals sign\n").at("a").empty());
  CHECK(parse_ini("").empty());
}

TEST_CASE("aws_profile: the two files make one profile", "[net][aws_profile][unit]") {
  const test::TempDirectory home;
  std::filesystem::create_directory(home.path() / ".aws");
  home.write(".aws/config", kConfig);
  home.write(".aws/credentials", kCredentials);
  const AwsEnvironment environment({{"HOME", home.path().string()}});

  const auto usual = AwsProfile::load(environment, "");
  REQUIRE(usual);
  CHECK(usual->find("aws_access_key_id") == "DEFAULTKEY");
  CHECK(usual->find("aws_secret_access_key") == "a#b;c=d/e+f");
  CHECK(usual->find("region") == "eu-central-1");
  CHECK_FALSE(usual->find("endpoint_url"));

  const auto lab = AwsProfile::load(environment, "lab");
  REQUIRE(lab);
  CHECK(lab->find("aws_access_key_id") == "LABKEY");
  CHECK(lab->find("endpoint_url") == "http://127.0.0.1:7480");

  const AwsEnvironment named({{"HOME", home.path().string()}, {"AWS_PROFILE", "lab"}});
  CHECK(AwsProfile::load(named, "")->find("region") == "us-west-2");
  CHECK(AwsProfile::load(named, "default")->find("region") == "eu-central-1");

  const auto unknown = AwsProfile::load(environment, "other");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().sys == ENOENT);
}

TEST_CASE("aws_profile: no files, no settings", "[net][aws_profile][unit]") {
  const test::TempDirectory home;
  const AwsEnvironment environment({{"HOME", home.path().string()}});
  const auto profile = AwsProfile::load(environment, "");
  REQUIRE(profile);
  CHECK_FALSE(profile->find("region"));
}

// Oracle: the kernel's view of the environment, which other users' tools can read.
TEST_CASE("aws_environment: secrets are wiped where they stood", "[net][aws_environment][unit]") {
  // putenv() makes its argument part of the environment.
  static char variable[] = "AWS_SECRET_ACCESS_KEY=very-secret";
  ::putenv(variable);
  ::setenv("AWS_ACCESS_KEY_ID", "KEY", 1);
  const auto environment = AwsEnvironment::take();
  ::unsetenv("AWS_ACCESS_KEY_ID");
  CHECK(environment.secret_key().reveal() == "very-secret");
  CHECK(environment.find("AWS_ACCESS_KEY_ID") == "KEY");
  CHECK(::getenv("AWS_SECRET_ACCESS_KEY") == nullptr);
  CHECK(std::string(std::begin(variable), std::end(variable)).find("secret") == std::string::npos);
  CHECK_FALSE(environment.find("AWS_SECRET_ACCESS_KEY"));
}

}  // namespace
}  // namespace framefs::net::aws_profile_test

#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "fs/core/threads/guarded.h"
#include "fs/net/credentials/credential_chain.h"
#include "fs/net/credentials/credential_json.h"
#include "fs/net/credentials/credential_keeper.h"
#include "fs/net/credentials/process_credentials.h"
#include "fs/net/credentials/sts.h"
#include "fs/net/http/network_thread.h"
#include "tests/support/catch.h"
#include "tests/support/http_server.h"
#include "tests/support/network.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"

namespace framefs::net::credentials_test {
namespace {

using test::HttpServer;
using test::served;
using test::ServedAnswer;
using test::ServedRequest;
using Variables = AwsEnvironment::Variables;

constexpr const char* kJson = R"({"Version": 1, "AccessKeyId": "K", "SecretAccessKey": "S",
                                  "Token": "T", "Expiration": "2030-01-01T00:00:00Z"})";
constexpr const char* kSts = R"(<AssumeRoleWithWebIdentityResponse xmlns="urn:x">
  <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>SK</AccessKeyId>
  <SecretAccessKey>SS</SecretAccessKey><SessionToken>ST</SessionToken>
  <Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>)";

// A chain for a test environment, which never uses the metadata service of the test machine.
struct Chain {
  std::unique_ptr<NetworkThread> network = test::running_network();
  test::TempDirectory home;
  DirectAccess access;

  Result<std::optional<Credentials>> fetch(Variables variables, const std::string& profile = "") {
    variables.emplace("HOME", home.path().string());
    variables.emplace("AWS_EC2_METADATA_DISABLED", "true");
    const AwsEnvironment environment(variables);
    FRAMEFS_TRY(const auto settings, AwsProfile::load(environment, profile));
    FRAMEFS_TRY(const auto chain, CredentialChain::make(*network, environment, settings,
                                                        {profile, "us-east-1"}, access));
    return chain->fetch();
  }
  void write_profile(const std::string& text) {
    std::filesystem::create_directories(home.path() / ".aws");
    home.write(".aws/config", text);
  }
};

TEST_CASE("credentials: JSON of processes and endpoints", "[net][credentials][unit]") {
  const auto credentials = parse_credential_json(kJson);
  REQUIRE(credentials);
  CHECK(credentials->access_key == "K");
  CHECK(credentials->secret_key.reveal() == "S");
  CHECK(credentials->session_token.reveal() == "T");
  CHECK(credentials->expires == parse_iso_time("2030-01-01T00:00:00Z"));
  for (const auto* const bad :
       {"", "[]", "{}", R"({"AccessKeyId": "K"})", R"({"AccessKeyId": 1, "SecretAccessKey": 2})",
        R"({"AccessKeyId": "K", "SecretAccessKey": "S", "Expiration": "soon"})"}) {
    INFO(bad);
    CHECK_FALSE(parse_credential_json(bad));
  }
}

TEST_CASE("credentials: the environment comes first", "[net][credentials][unit]") {
  Chain chain;
  chain.write_profile("[default]\naws_access_key_id=FILE\naws_secret_access_key=x\n");
  const Variables variables{{"AWS_ACCESS_KEY_ID", "ENV"},
                            {"AWS_SECRET_ACCESS_KEY", "secret"},
                            {"AWS_SESSION_TOKEN", "token"}};
  const auto found = chain.fetch(variables);
  REQUIRE((found && *found));
  CHECK((*found)->access_key == "ENV");
  CHECK((*found)->session_token.reveal() == "token");
  CHECK((*chain.fetch({}))->access_key == "FILE");
  // A profile that the user names takes precedence over the environment.
  CHECK((*chain.fetch(variables, "default"))->access_key == "FILE");
}

TEST_CASE("credentials: none where there are none", "[net][credentials][unit]") {
  Chain chain;
  const auto found = chain.fetch({});
  REQUIRE(found);
  CHECK_FALSE(*found);
}

TEST_CASE("credentials: a process", "[net][credentials][unit]") {
  Chain chain;
  chain.home.write("keys.json", std::string_view(kJson));
  chain.write_profile("[profile p]\ncredential_process = cat '" +
                      (chain.home.path() / "keys.json").string() + "'\n");
  const auto found = chain.fetch({}, "p");
  REQUIRE((found && *found));
  CHECK((*found)->access_key == "K");

  const auto error_of = [&](const std::string& command) {
    const auto fetched = ProcessCredentials(chain.access, command).fetch();
    return fetched ? 0 : fetched.error().sys;
  };
  CHECK(error_of("echo '" + std::string(kJson) + "'; exit 3") == EACCES);
  CHECK(error_of("echo '" + std::string(kJson) + "'; kill -9 $$") == EACCES);
  CHECK(error_of("yes") == EFBIG);
  ProcessCredentials silent(chain.access, "true");
  REQUIRE_FALSE(silent.fetch());
}

TEST_CASE("credentials: a process that hangs can be left alone", "[net][credentials][race]") {
  DirectAccess access;
  for (const auto* const command : {"exec sleep 1000", "exec sleep 1000 >/dev/null"}) {
    INFO(command);
    ProcessCredentials hanging(access, command);
    std::jthread canceller([&] { hanging.cancel(); });
    const auto fetched = hanging.fetch();
    REQUIRE_FALSE(fetched);
    CHECK(fetched.error().sys == ECANCELED);
  }
}

TEST_CASE("credentials: web identity", "[net][credentials][unit]") {
  HttpServer server([](const ServedRequest& request) {
    const bool right = request.method == "POST" &&
                       request.body.contains("WebIdentityToken=tok.en") &&
                       request.body.contains("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr");
    return served(right ? 200 : 403, kSts);
  });
  Chain chain;
  const auto token = chain.home.write("token", std::string_view("tok.en\n"));
  const auto found = chain.fetch({{"AWS_WEB_IDENTITY_TOKEN_FILE", token.string()},
                                  {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"},
                                  {"AWS_ENDPOINT_URL_STS", server.url()}});
  REQUIRE((found && *found));
  CHECK((*found)->access_key == "SK");
  CHECK((*found)->session_token.reveal() == "ST");
  CHECK_FALSE(parse_sts_answer("<x/>", "AssumeRoleWithWebIdentity"));
  CHECK_FALSE(parse_sts_answer("no XML", "AssumeRoleWithWebIdentity"));
  CHECK_FALSE(parse_sts_answer(kSts, "AssumeRole"));
}

TEST_CASE("credentials: the first line of a file is the token", "[net][credentials][unit]") {
  test::TempDirectory folder;
  DirectAccess access;
  const auto read = [&](std::string_view content) {
    return read_token_file(access, folder.write("token", content).string(), "token");
  };
  CHECK(*read("tok.en") == "tok.en");
  CHECK(*read("tok.en\n") == "tok.en");
  CHECK(*read("tok.en\nmore\n") == "tok.en");
  CHECK(*read(std::string(10'000, 'x') + "\n") == std::string(10'000, 'x'));
  for (const auto* const none : {"", "\n", "\ntok.en"}) {
    const auto token = read(none);
    REQUIRE_FALSE(token);
    CHECK(token.error().sys == ENOENT);
  }
  const auto endless = read_token_file(access, "/dev/zero", "token");
  REQUIRE_FALSE(endless);
  CHECK(endless.error().sys == EFBIG);
  CHECK_FALSE(read_token_file(access, (folder.path() / "none").string(), "token"));
}

TEST_CASE("credentials: a container's endpoint", "[net][credentials][unit]") {
  HttpServer server([](const ServedRequest& request) {
    return served(request.header("authorization") == "Bearer x" ? 200 : 401, kJson);
  });
  Chain chain;
  Variables variables{{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/creds"},
                      {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer x"}};
  const auto found = chain.fetch(variables);
  REQUIRE((found && *found));
  CHECK((*found)->access_key == "K");
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "Bearer y";
  CHECK_FALSE(chain.fetch(variables));
  // The token would be sent unencrypted.
  variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://192.0.2.1/creds";
  const auto refused = chain.fetch(variables);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == Errc::bad_field);
}

TEST_CASE("credentials: the instance's metadata service, with a token",
          "[net][credentials][unit]") {
  HttpServer server([](const ServedRequest& request) {
    if (request.method == "PUT" && request.target == "/latest/api/token") return served(200, "tok");
    if (request.header("x-aws-ec2-metadata-token") != "tok") return served(401);
    if (request.target == "/latest/meta-data/iam/security-credentials/") return served(200, "role");
    return served(request.target.ends_with("/role") ? 200 : 404, kJson);
  });
  Chain chain;
  const auto found = chain.fetch({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url()},
                                  {"AWS_EC2_METADATA_DISABLED", "false"}});
  REQUIRE((found && *found));
  CHECK((*found)->access_key == "K");
}

// An answer with the keys ROLE-OF-X, for a request that the keys X have signed.
ServedAnswer give_role(const ServedRequest& request) {
  const auto signature = request.header("authorization");
  const std::string begin = "AWS4-HMAC-SHA256 Credential=";
  const auto key = signature.substr(begin.size(), signature.find('/') - begin.size());
  const bool right = request.method == "POST" && signature.starts_with(begin) &&
                     signature.contains("/us-east-1/sts/aws4_request") &&
                     request.body.contains("Action=AssumeRole&");
  return served(right ? 200 : 403,
                "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE-OF-" +
                    std::string(key) +
                    "</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T"
                    "</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration></Credentials>"
                    "</AssumeRoleResult></AssumeRoleResponse>");
}

TEST_CASE("credentials: the role of a profile", "[net][credentials][unit]") {
  fs::Guarded<ServedRequest> last;
  HttpServer server([&](const ServedRequest& request) {
    last.with([&](auto& now) { now = request; });
    return give_role(request);
  });
  const auto last_request = [&] { return last.with([](const auto& now) { return now; }); };
  Chain chain;
  chain.write_profile(
      "[profile base]\naws_access_key_id=K\naws_secret_access_key=x\n"
      "[profile r]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=base\nexternal_id=id\n"
      "duration_seconds=900\nrole_session_name=me\n"
      "[profile twice]\nrole_arn=arn:aws:iam::1:role/s\nsource_profile=r\n"
      "[profile self]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=self\n"
      "aws_access_key_id=OWN\naws_secret_access_key=x\n"
      "[profile place]\nrole_arn=arn:aws:iam::1:role/r\ncredential_source=Environment\n"
      "[profile nowhere]\nrole_arn=arn:aws:iam::1:role/r\ncredential_source=Elsewhere\n"
      "[profile a]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=b\n"
      "[profile b]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=a\n"
      "[profile gone]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=none\n"
      "[profile code]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=base\nmfa_serial=m\n");
  const Variables variables{{"AWS_ENDPOINT_URL_STS", server.url()},
                            {"AWS_ACCESS_KEY_ID", "ENV"},
                            {"AWS_SECRET_ACCESS_KEY", "x"}};
  const auto key_of = [&](const std::string& profile) {
    const auto found = chain.fetch(variables, profile);
    return found && *found ? (*found)->access_key : "";
  };
  CHECK(key_of("r") == "ROLE-OF-K");
  CHECK(last_request().body ==
        "Action=AssumeRole&DurationSeconds=900&ExternalId=id&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole"
        "%2Fr&RoleSessionName=me&Version=2011-06-15");
  CHECK(key_of("twice") == "ROLE-OF-ROLE-OF-K");
  CHECK(last_request().header("x-amz-security-token") == "T");
  CHECK(last_request().body.contains("RoleSessionName=framefs"));
  CHECK(key_of("self") == "ROLE-OF-OWN");
  CHECK(key_of("place") == "ROLE-OF-ENV");
  const auto error_of = [&](const std::string& profile) {
    const auto found = chain.fetch(variables, profile);
    REQUIRE_FALSE(found);
    return found.error();
  };
  CHECK(error_of("nowhere").kind == Errc::bad_field);
  CHECK(error_of("a").kind == Errc::bad_field);
  CHECK(error_of("gone").sys == ENOENT);
  CHECK(error_of("code").kind == Errc::unsupported);
}

TEST_CASE("credentials: a role that STS refuses", "[net][credentials][unit]") {
  HttpServer server([](const ServedRequest&) { return served(403, "<ErrorResponse/>"); });
  Chain chain;
  chain.write_profile(
      "[default]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=default\n"
      "aws_access_key_id=OWN\naws_secret_access_key=x\n");
  const auto refused = chain.fetch({{"AWS_ENDPOINT_URL_STS", server.url()}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EACCES);
}

TEST_CASE("credentials: a profile that needs a sign-on says how it can be had",
          "[net][credentials][unit]") {
  Chain chain;
  chain.write_profile(
      "[profile sso]\nsso_session = s\n[profile alone]\nrole_arn = r\n"
      "[profile of-sso]\nrole_arn = r\nsource_profile = sso\n");
  for (const auto* const profile : {"sso", "alone", "of-sso"}) {
    INFO(profile);
    const auto refused = chain.fetch({}, profile);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == Errc::unsupported);
  }
}

// Returns keys K1, K2, ... that expire at the given time after `now`.
class Numbered final : public CredentialSource {
 public:
  Numbered(std::atomic<int>& count, std::optional<UnixSeconds> expires)
      : count_(count), expires_(expires) {}
  Result<std::optional<Credentials>> fetch() override {
    const int number = count_.fetch_add(1) + 1;
    return Credentials{.access_key = "K" + std::to_string(number),
                       .secret_key = Secret("s"),
                       .session_token = {},
                       .expires = expires_};
  }

 private:
  std::atomic<int>& count_;
  const std::optional<UnixSeconds> expires_;
};

TEST_CASE("credential_keeper: expired credentials are not handed out",
          "[net][credential_keeper][unit]") {
  std::atomic<int> count{0};
  std::atomic<UnixSeconds> now{1000};
  CredentialKeeper keeper(std::make_unique<Numbered>(count, 100'000), [&] { return now.load(); });
  REQUIRE(keeper.start());
  CHECK(keeper.current()->access_key == "K1");
  now.store(100'000);
  const auto expired = keeper.current();
  REQUIRE_FALSE(expired);
  CHECK(expired.error().sys == EAGAIN);
}

TEST_CASE("credential_keeper: credentials that a server refuses are fetched again, once",
          "[net][credential_keeper][race]") {
  std::atomic<int> count{0};
  CredentialKeeper keeper(std::make_unique<Numbered>(count, std::nullopt),
                          [] { return UnixSeconds{1000}; });
  REQUIRE(keeper.start());
  test::on_threads(8, [&](std::size_t) { keeper.refuse("K1"); });
  REQUIRE(test::comes_true([&] { return keeper.current()->access_key == "K2"; }));
  keeper.refuse("K1");  // an answer that arrives late
  CHECK(keeper.current()->access_key == "K2");
  CHECK(count.load() == 2);
}

TEST_CASE("credential_keeper: without credentials there is no start",
          "[net][credential_keeper][unit]") {
  class None final : public CredentialSource {
    Result<std::optional<Credentials>> fetch() override { return std::nullopt; }
  };
  CredentialKeeper keeper(std::make_unique<None>(), [] { return UnixSeconds{0}; });
  const auto started = keeper.start();
  REQUIRE_FALSE(started);
  CHECK(started.error().sys == EACCES);
  CHECK(CredentialKeeper::anonymous()->current()->is_anonymous());
}

}  // namespace
}  // namespace framefs::net::credentials_test

#include "fs/net/store/sigv4.h"

#include <array>
#include <string>

#include "fs/net/store/digest.h"
#include "tests/support/catch.h"

namespace framefs::net::sigv4_test {
namespace {

const UnixSeconds kExampleDay = *parse_iso_time("2013-05-24T00:00:00Z");
const std::string kEmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

Credentials example() {
  return {.access_key = "AKIAIOSFODNN7EXAMPLE",
          .secret_key = Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
          .session_token = {},
          .expires = {}};
}

std::string authorization_of(HttpRequest request) {
  sign_request(request, example(), {"us-east-1", "s3", kExampleDay});
  return std::string(request.headers.find("authorization").value_or(""));
}

HttpRequest request_to(const char* url) {
  HttpRequest request;
  request.url = *parse_url(url);
  return request;
}

TEST_CASE("digest: known values", "[net][digest][unit]") {
  CHECK(hex(sha256("")) == kEmptyHash);
  // RFC 4231, test case 2.
  CHECK(hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

// Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, examples.
TEST_CASE("sigv4: the examples of S3's documentation", "[net][sigv4][conformance]") {
  auto get = request_to("https://examplebucket.s3.amazonaws.com/test.txt");
  get.headers.add("range", "bytes=0-9");
  CHECK(authorization_of(get) ==
        "AWS4-HMAC-SHA256 "
        "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");

  auto lifecycle = request_to("https://examplebucket.s3.amazonaws.com/");
  lifecycle.url.query = canonical_query(std::array{QueryParameter{"lifecycle", ""}});
  CHECK(authorization_of(lifecycle).ends_with(
      "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));

  auto list = request_to("https://examplebucket.s3.amazonaws.com/");
  list.url.query =
      canonical_query(std::array{QueryParameter{"prefix", "J"}, QueryParameter{"max-keys", "2"}});
  CHECK(authorization_of(list).ends_with(
      "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));

  auto put = request_to("https://examplebucket.s3.amazonaws.com/test%24file.text");
  put.method = "PUT";
  put.headers.add("Date", "Fri, 24 May 2013 00:00:00 GMT");
  put.headers.add("x-amz-storage-class", "REDUCED_REDUNDANCY");
  put.body = "Welcome to Amazon S3.";
  CHECK(authorization_of(put).ends_with(
      "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, "
      "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

// Source: the AWS Signature Version 4 test suite, get-vanilla and get-vanilla-query-order-key-case.
TEST_CASE("sigv4: the general test suite", "[net][sigv4][conformance]") {
  const Credentials credentials{.access_key = "AKIDEXAMPLE",
                                .secret_key = Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
                                .session_token = {},
                                .expires = {}};
  const SigningScope scope{"us-east-1", "service", *parse_iso_time("2015-08-30T12:36:00Z")};
  auto vanilla = request_to("https://example.amazonaws.com/");
  vanilla.headers.add("X-Amz-Date", "20150830T123600Z");
  CHECK(sigv4_authorization(vanilla, kEmptyHash, credentials, scope)
            .ends_with("SignedHeaders=host;x-amz-date, Signature="
                       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"));
  vanilla.url.query = canonical_query(
      std::array{QueryParameter{"Param2", "value2"}, QueryParameter{"Param1", "value1"}});
  CHECK(sigv4_authorization(vanilla, kEmptyHash, credentials, scope)
            .ends_with("b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"));
}

TEST_CASE("sigv4: a session token is sent and signed", "[net][sigv4][unit]") {
  auto credentials = example();
  credentials.session_token = Secret("token");
  auto request = request_to("https://examplebucket.s3.amazonaws.com/");
  sign_request(request, credentials, {"us-east-1", "s3", kExampleDay});
  CHECK(request.headers.find("x-amz-security-token") == "token");
  CHECK(request.headers.find("authorization")
            ->contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token"));
}

// A request that is sent again is signed again.
TEST_CASE("sigv4: signing twice gives the same request as signing once", "[net][sigv4][unit]") {
  auto once = request_to("https://examplebucket.s3.amazonaws.com/x");
  sign_request(once, example(), {"us-east-1", "s3", kExampleDay});
  auto twice = request_to("https://examplebucket.s3.amazonaws.com/x");
  sign_request(twice, example(), {"us-east-1", "s3", kExampleDay - 60});
  sign_request(twice, example(), {"us-east-1", "s3", kExampleDay});
  CHECK(twice.headers.find("authorization") == once.headers.find("authorization"));
}

TEST_CASE("sigv4: anonymous requests carry nothing", "[net][sigv4][unit]") {
  auto request = request_to("https://examplebucket.s3.amazonaws.com/");
  sign_request(request, {}, {"us-east-1", "s3", kExampleDay});
  CHECK(request.headers.fields().empty());
}

TEST_CASE("sigv4: a query is sorted by its encoded names", "[net][sigv4][unit]") {
  CHECK(canonical_query(std::array{QueryParameter{"prefix", "a b+/\u00e9"}, QueryParameter{"b", ""},
                                   QueryParameter{"a", "="}}) ==
        "a=%3D&b=&prefix=a%20b%2B%2F%C3%A9");
}

}  // namespace
}  // namespace framefs::net::sigv4_test

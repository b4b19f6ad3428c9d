#include "fs/net/http/percent.h"

#include <string>

#include "tests/support/catch.h"

namespace framefs::net::percent_test {
namespace {

TEST_CASE("percent: every byte but the unreserved ones is encoded", "[net][percent][unit]") {
  CHECK(percent_encode("azAZ09-_.~", Slashes::encoded) == "azAZ09-_.~");
  CHECK(percent_encode("a b+c=d%e&f?g#h", Slashes::encoded) == "a%20b%2Bc%3Dd%25e%26f%3Fg%23h");
  CHECK(percent_encode("\u00e9\U0001F600", Slashes::encoded) == "%C3%A9%F0%9F%98%80");
  CHECK(percent_encode("a/b/", Slashes::kept) == "a/b/");
  CHECK(percent_encode("a/b/", Slashes::encoded) == "a%2Fb%2F");
}

// Oracle: decoding is the inverse of encoding, for every byte.
TEST_CASE("percent: decoding reverses encoding", "[net][percent][unit]") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(percent_decode(percent_encode(all, Slashes::encoded)) == all);
  CHECK(percent_decode(percent_encode(all, Slashes::kept)) == all);
  CHECK(form_decode(percent_encode(all, Slashes::encoded)) == all);
}

TEST_CASE("percent: a sign that begins no escape stands for itself", "[net][percent][unit]") {
  CHECK(percent_decode("100%") == "100%");
  CHECK(percent_decode("%zz%4") == "%zz%4");
  CHECK(percent_decode("a+b") == "a+b");
  CHECK(form_decode("a+b%2B") == "a b+");
}

TEST_CASE("percent: a path as typed is completed, not encoded twice", "[net][percent][unit]") {
  CHECK(percent_complete("/a b/%20/50%/\u00e9") == "/a%20b/%20/50%25/%C3%A9");
  CHECK(percent_complete("/a?b=c&d=e+f") == "/a?b=c&d=e+f");
}

}  // namespace
}  // namespace framefs::net::percent_test

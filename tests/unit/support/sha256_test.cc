#include "tests/support/sha256.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::test::sha256_test {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Source: FIPS 180-4 examples (NIST, "SHA256.pdf"), and the NIST vectors for the empty message and
// a million times 'a'.
TEST_CASE("sha256: the published digests come out", "[support][sha256][unit]") {
  CHECK(sha256_hex({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex(bytes_of("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::vector<std::byte>(1000000, std::byte{'a'})) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256: pieces of any size give the digest of the whole", "[support][sha256][unit]") {
  std::vector<std::byte> message(300);
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i * 7);
  for (const std::size_t total : {0u, 1u, 55u, 56u, 57u, 63u, 64u, 65u, 119u, 120u, 128u, 300u}) {
    const auto whole = std::span(message).first(total);
    for (const std::size_t piece : {1u, 3u, 63u, 64u, 65u, 130u}) {
      INFO(total << " bytes in pieces of " << piece);
      Sha256 hash;
      for (std::size_t at = 0; at < total; at += piece) {
        hash.update(whole.subspan(at, std::min(piece, total - at)));
      }
      CHECK(hash.finish_hex() == sha256_hex(whole));
    }
  }
}

}  // namespace
}  // namespace framefs::test::sha256_test

#include "fs/remote/remote_listings.h"

#include <cstdint>
#include <memory>
#include <string>

#include "fs/net/credentials/aws_environment.h"
#include "fs/net/credentials/credential_access.h"
#include "tests/support/catch.h"
#include "tests/support/http_server.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs::remote_listings_test {
namespace {

// The listings of a web server that has the same files in every directory.
class Listings {
 public:
  explicit Listings(unsigned list_timeout_ms) : list_timeout_ms_(list_timeout_ms) {
    store_->start();
  }
  ~Listings() { store_->stop(); }

  void open(const std::string& path) {
    const auto listing = listings_.open(path);
    REQUIRE(listing);
    CHECK((*listing)->find("file7"));
  }
  // Opens a number of directories, each once.
  void open_many(int count) {
    for (int i = 0; i < count; ++i) open("directory" + std::to_string(i));
  }
  [[nodiscard]] bool keeps(const std::string& path) const {
    return listings_.kept(path) != nullptr;
  }
  [[nodiscard]] std::uint64_t bytes() const { return store_->listing_budget().used(); }
  [[nodiscard]] std::uint64_t repeated() const { return store_->counts().repeated_listings; }

 private:
  static test::ServedAnswer answer() {
    std::string links;
    for (int i = 0; i < 100; ++i) links += "<a href=\"file" + std::to_string(i) + "\">x</a>";
    return test::served(200, links, {{"Content-Type", "text/html"}});
  }
  MountOptions options() const {
    MountOptions options;
    options.source = server_.url();
    options.remote.list_timeout_ms = list_timeout_ms_;
    return options;
  }

  const unsigned list_timeout_ms_;
  test::HttpServer server_{[](const auto&) { return answer(); }};
  net::DirectAccess access_;
  test::TestLog log_;
  const std::unique_ptr<RemoteStore> store_ =
      *RemoteStore::open(options(), net::AwsEnvironment(), access_, log_.log());
  RemoteProbes probes_{options().limits};
  RemoteListings listings_{*store_, options(), probes_, log_.log()};
};

TEST_CASE("remote_listings: a walk keeps no listing that is too old to be used",
          "[fs][remote_listings][unit]") {
  Listings listings(0);
  listings.open("first");
  const auto of_one = listings.bytes();
  REQUIRE(of_one > 0);
  listings.open_many(50);
  CHECK(listings.bytes() <= 5 * of_one);
  CHECK_FALSE(listings.keeps("first"));
}

TEST_CASE("remote_listings: listings that can be used are kept", "[fs][remote_listings][unit]") {
  Listings listings(3'600'000);
  listings.open("first");
  const auto of_one = listings.bytes();
  listings.open_many(50);
  CHECK(listings.bytes() >= 20 * of_one);
  CHECK(listings.keeps("first"));
}

TEST_CASE("remote_listings: the listing of SOURCE leads to its manifest at any age",
          "[fs][remote_listings][unit]") {
  Listings listings(0);
  listings.open("");
  listings.open_many(3);
  CHECK(listings.keeps(""));
}

TEST_CASE("remote_listings: repeated listings are counted, whether or not the first was kept",
          "[fs][remote_listings][unit]") {
  Listings listings(0);
  listings.open("first");
  listings.open_many(3);
  CHECK(listings.repeated() == 0);
  listings.open("first");
  CHECK(listings.repeated() == 1);
}

}  // namespace
}  // namespace framefs::fs::remote_listings_test

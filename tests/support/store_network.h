#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "fs/net/cache/range_scheduler.h"
#include "fs/net/credentials/credential_keeper.h"
#include "fs/net/http/network_thread.h"
#include "fs/net/http/request_queue.h"
#include "fs/net/http/server_clock.h"
#include "fs/net/net_stats.h"
#include "fs/net/remote_file.h"
#include "fs/net/store/s3_store.h"
#include "fs/net/store/web_store.h"
#include "tests/support/catch.h"
#include "tests/support/network.h"
#include "tests/support/quiet_health.h"

namespace framefs::test {

// Everything that a store needs, and the stores.  Threads: one.
struct StoreNetwork {
  net::NetStats stats;
  QuietHealth log;
  net::ServerClock clock;
  std::unique_ptr<net::NetworkThread> network = running_network();
  net::RequestQueue queue{*network, stats, log.health};
  net::RangeScheduler scheduler{queue, stats, network->bodies(), nullptr, {}};
  std::unique_ptr<net::CredentialKeeper> keeper = net::CredentialKeeper::anonymous();

  ~StoreNetwork() { network->stop(); }
  void sign_with(const std::string& key) {
    class Fixed final : public net::CredentialSource {
     public:
      explicit Fixed(std::string key) : key_(std::move(key)) {}
      net::Result<std::optional<net::Credentials>> fetch() override {
        net::Credentials made;
        made.access_key = key_;
        made.secret_key = net::Secret("secret");
        return made;
      }

     private:
      const std::string key_;
    };
    keeper = std::make_unique<net::CredentialKeeper>(std::make_unique<Fixed>(key),
                                                     [this] { return clock.now(); });
    REQUIRE(keeper->start());
  }
  std::unique_ptr<net::S3Store> s3(const std::string& endpoint, const std::string& prefix = "") {
    return *net::S3Store::make(queue, *keeper, clock,
                               {.bucket = "buck", .prefix = prefix, .endpoint = endpoint});
  }
  std::unique_ptr<net::WebStore> web(
      const std::string& url, net::WebStore::Listing listing = net::WebStore::Listing::page) {
    return std::make_unique<net::WebStore>(queue, *net::parse_url(url), listing);
  }
  // The object's bytes from `offset` on; "!errno" if it cannot be read.
  std::string read(const net::RemoteOpened& opened, std::uint64_t offset, std::size_t size) {
    scheduler.keep(*opened.object, opened.part);
    const net::RemoteFile file(scheduler, opened.object);
    std::string bytes(size, '\0');
    const auto status = file.read_at(offset, std::as_writable_bytes(std::span(bytes)));
    return status ? bytes : "!" + std::to_string(status.error().sys);
  }
};

// The content of an object that no request for its beginning fetches whole.
inline std::string long_content() {
  std::string content;
  for (int i = 0; content.size() < 300'000; ++i) content += std::to_string(i) + ",";
  return content;
}

}  // namespace framefs::test

#include "fs/net/cache/range_scheduler.h"

#include <cerrno>
#include <numeric>
#include <random>
#include <string>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/http/answer_check.h"
#include "fs/net/http/network_thread.h"
#include "fs/net/remote_file.h"
#include "tests/support/catch.h"
#include "tests/support/http_server.h"
#include "tests/support/network.h"
#include "tests/support/quiet_health.h"
#include "tests/support/threads.h"

namespace framefs::net::range_scheduler_test {
namespace {

using test::HttpServer;
using test::served;
using test::served_range;
using test::ServedAnswer;
using test::ServedRequest;

std::string content_of(std::size_t size) {
  std::mt19937_64 random(size);
  std::string content(size, '\0');
  for (auto& c : content) c = static_cast<char>(random());
  return content;
}

// A part cache in memory.
class FakeDisk final : public PartCache {
 public:
  std::vector<Part> find(const ContentKey&, ByteRange range) override {
    return parts_.with([&](const auto& parts) {
      std::vector<Part> found;
      for (const auto& [offset, part] : parts) {
        if (offset < range.offset + range.size && part.end() > range.offset) found.push_back(part);
      }
      return found;
    });
  }
  bool holds(const ContentKey&, ByteRange) const override { return false; }
  void store(const ContentKey&, const Part& part) override {
    parts_.with([&](auto& parts) { parts.emplace(part.offset, part); });
  }
  std::uint64_t bytes() const {
    return parts_.with([](const auto& parts) {
      std::uint64_t sum = 0;
      for (const auto& [offset, part] : parts) sum += part.end() - offset;
      return sum;
    });
  }

 private:
  fs::Guarded<std::map<std::uint64_t, Part>> parts_;
};

// One object on a real server, and the objects that are needed to read it.
struct Remote {
  std::string content;
  HttpServer server;
  NetStats stats;
  test::QuietHealth log;
  std::unique_ptr<NetworkThread> network = test::running_network();
  RequestQueue queue{*network, stats, log.health};
  RangeScheduler scheduler;
  RangeScheduler::Object object;

  explicit Remote(std::size_t size, HttpServer::Handler handler = {}, PartCache* disk = nullptr,
                  RangeScheduler::Options options = {})
      : content(content_of(size)),
        server(handler ? std::move(handler) : HttpServer::Handler([this](const auto& request) {
          return served_range(request, content, {{"ETag", "\"e\""}});
        })),
        scheduler(queue, stats, network->bodies(), disk, options) {
    HttpHeaders headers;
    headers.add("ETag", "\"e\"");
    const auto version = make_version(server.url(), "x", size, headers);
    object = std::make_shared<RemoteObject>(
        version, [url = *parse_url(server.url()), version](ByteRange range) {
          Call call;
          call.make = [=]() -> Result<HttpRequest> {
            HttpRequest request;
            request.url = url;
            pin(request, version, range);
            return request;
          };
          call.judge = [=](const HttpAnswer& answer) {
            return check_range_answer(answer, version, range);
          };
          return call;
        });
  }
  ~Remote() { network->stop(); }

  // The bytes that the scheduler returns, or "!errno".
  std::string read(std::uint64_t offset, std::size_t size) {
    std::string bytes(size, '\0');
    const auto status = scheduler.read(
        object, std::array{RangeScheduler::Read{offset, std::as_writable_bytes(std::span(bytes))}});
    return status ? bytes : "!" + std::to_string(status.error().sys);
  }
  std::size_t requests() const { return server.requests().size(); }
};

TEST_CASE("range_scheduler: a range is fetched once", "[net][scheduler][unit]") {
  Remote remote(100'000);
  CHECK(remote.read(10, 1000) == remote.content.substr(10, 1000));
  CHECK(remote.read(10, 1000) == remote.content.substr(10, 1000));
  CHECK(remote.read(500, 100) == remote.content.substr(500, 100));
  CHECK(remote.requests() == 1);
  const auto counts = remote.stats.counts();
  CHECK(counts.misses == 1);
  CHECK(counts.memory_hits == 2);
  CHECK(counts.bytes_fetched == 1000);
  CHECK(counts.bytes_served == 2100);
}

TEST_CASE("range_scheduler: only missing ranges are fetched", "[net][scheduler][unit]") {
  Remote remote(100'000);
  remote.read(1000, 1000);
  CHECK(remote.read(500, 2000) == remote.content.substr(500, 2000));
  CHECK(remote.stats.counts().bytes_fetched == 2000);
}

TEST_CASE("range_scheduler: many ranges at once", "[net][scheduler][unit]") {
  Remote remote(3'000'000);
  std::vector<std::string> outs;
  std::vector<RangeScheduler::Read> reads;
  for (std::uint64_t i = 0; i < 20; ++i) outs.emplace_back(4096, '\0');
  for (std::uint64_t i = 0; i < 20; ++i) {
    reads.push_back({(19 - i) * 150'000, std::as_writable_bytes(std::span(outs[i]))});
  }
  reads.push_back({5, {}});
  REQUIRE(remote.scheduler.read(remote.object, reads));
  for (std::uint64_t i = 0; i < 20; ++i) {
    CHECK(outs[i] == remote.content.substr((19 - i) * 150'000, 4096));
  }
}

TEST_CASE("range_scheduler: a read beyond the object is refused", "[net][scheduler][unit]") {
  Remote remote(1000);
  CHECK(remote.read(0, 1000) == remote.content);
  std::string out(1, '\0');
  const auto beyond = remote.scheduler.read(
      remote.object,
      std::array{RangeScheduler::Read{1000, std::as_writable_bytes(std::span(out))}});
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().kind == Errc::truncated);
}

TEST_CASE("range_scheduler: a reader waits for a range that is under way",
          "[net][scheduler][race]") {
  constexpr std::size_t kReaders = 16;
  std::atomic<bool> open{false};
  Remote* self = nullptr;
  Remote remote(100'000, [&](const ServedRequest& request) {
    test::comes_true([&] { return open.load(); });
    return served_range(request, self->content, {{"ETag", "\"e\""}});
  });
  self = &remote;
  std::array<std::string, kReaders> got;
  test::on_threads(kReaders + 1, [&](std::size_t i) {
    if (i == kReaders) {
      test::comes_true([&] { return remote.requests() > 0; });
      open.store(true);
    } else {
      got[i] = remote.read(1000, 5000);
    }
  });
  for (const auto& bytes : got) CHECK(bytes == remote.content.substr(1000, 5000));
  CHECK(remote.requests() == 1);
}

TEST_CASE("range_scheduler: an object that changed is stale", "[net][scheduler][unit]") {
  Remote remote(100'000, [](const ServedRequest& request) {
    return served_range(request, content_of(100'000), {{"ETag", "\"other\""}});
  });
  CHECK(remote.read(0, 100) == "!" + std::to_string(ESTALE));
}

TEST_CASE("range_scheduler: answers that break the rules are EIO, after few attempts",
          "[net][scheduler][unit]") {
  Remote remote(100'000, [](const ServedRequest&) {
    return served(200, std::string(100'000, 'x'), {{"ETag", "\"e\""}, {"Accept-Ranges", "bytes"}});
  });
  CHECK(remote.read(0, 100) == "!" + std::to_string(EIO));
  CHECK(remote.requests() == 3);
}

TEST_CASE("range_scheduler: bodies that break off are fetched again", "[net][scheduler][unit]") {
  std::atomic<int> number{0};
  Remote* self = nullptr;
  Remote remote(100'000, [&](const ServedRequest& request) {
    auto answer = served_range(request, self->content, {{"ETag", "\"e\""}});
    if (number.fetch_add(1) < 2) {
      answer.bytes.resize(answer.bytes.size() - 50);
      answer.then = ServedAnswer::Then::reset;
    }
    return answer;
  });
  self = &remote;
  CHECK(remote.read(0, 1000) == remote.content.substr(0, 1000));
  CHECK(remote.requests() == 3);
}

TEST_CASE("range_scheduler: expected ranges are fetched together", "[net][scheduler][unit]") {
  Remote remote(1'000'000);
  remote.scheduler.expect(
      remote.object,
      std::array{ByteRange{0, 1000}, ByteRange{1000, 3000}, ByteRange{999'000, 99'999}}, {});
  CHECK(remote.read(0, 1000) == remote.content.substr(0, 1000));
  CHECK(remote.read(1000, 3000) == remote.content.substr(1000, 3000));
  CHECK(remote.read(999'000, 1000) == remote.content.substr(999'000));
  CHECK(remote.requests() == 2);
}

TEST_CASE("range_scheduler: the disk cache is asked before the server", "[net][scheduler][unit]") {
  FakeDisk disk;
  {
    Remote first(100'000, {}, &disk);
    first.read(1000, 1000);
    first.read(5000, 1000);
  }
  Remote second(100'000, {}, &disk);
  CHECK(second.read(1000, 1000) == second.content.substr(1000, 1000));
  CHECK(second.requests() == 0);
  CHECK(second.stats.counts().disk_hits == 1);
  CHECK(second.read(500, 6000) == second.content.substr(500, 6000));
  CHECK(second.stats.counts().bytes_fetched <= 4000);
}

TEST_CASE("range_scheduler: an interrupted reader leaves, others stay", "[net][scheduler][race]") {
  std::atomic<bool> open{false};
  Remote* self = nullptr;
  Remote remote(100'000, [&](const ServedRequest& request) {
    test::comes_true([&] { return open.load(); });
    return served_range(request, self->content, {{"ETag", "\"e\""}});
  });
  self = &remote;
  std::array<std::string, 2> got;
  test::on_threads(2, [&](std::size_t i) {
    if (i == 0) {
      const fs::InterruptScope scope([&] { return remote.requests() > 0; });
      got[0] = remote.read(0, 1000);
      open.store(true);
    } else {
      got[1] = remote.read(0, 1000);
    }
  });
  CHECK(got[0] == "!" + std::to_string(EINTR));
  CHECK(got[1] == remote.content.substr(0, 1000));
}

TEST_CASE("range_scheduler: sequential readers find the next ranges in memory",
          "[net][scheduler][unit]") {
  FakeDisk landed;
  Remote remote(8'000'000, {}, &landed);
  for (std::uint64_t at = 0; at < 8'000'000; at += 50'000) {
    REQUIRE(remote.read(at, 50'000) == remote.content.substr(at, 50'000));
    // A reader that is faster than the server waits for the ranges, and then they count as demand.
    const auto next_end = std::min<std::uint64_t>(at + 100'000, 8'000'000);
    if (at >= 500'000) REQUIRE(test::comes_true([&] { return landed.bytes() >= next_end; }));
  }
  const auto counts = remote.stats.counts();
  CHECK(counts.bytes_fetched <= 8'000'000 * 102 / 100);
  CHECK(remote.requests() <= 20);
  CHECK(counts.prefetched_bytes > 0);
  CHECK(counts.disk_hits == 0);
  CHECK(counts.misses <= 11);
}

TEST_CASE("range_scheduler: the ranges ahead are requested while the reader waits",
          "[net][scheduler][race]") {
  constexpr std::size_t kBegin = 1'000'000;
  constexpr std::size_t kPiece = 50'000;
  Remote* self = nullptr;
  std::atomic<bool> were_together{true};
  Remote remote(8'000'000, [&](const ServedRequest& request) {
    const auto last_read =
        range_header({kBegin + (SequentialStreams::kProofs - 1) * kPiece, kPiece});
    if (request.header("range") == last_read) {
      were_together =
          test::comes_true([&] { return self->requests() > SequentialStreams::kProofs; });
    }
    return served_range(request, self->content, {{"ETag", "\"e\""}});
  });
  self = &remote;
  for (std::size_t i = 0; i < SequentialStreams::kProofs; ++i) {
    const auto at = kBegin + i * kPiece;
    REQUIRE(remote.read(at, kPiece) == remote.content.substr(at, kPiece));
  }
  CHECK(were_together);
  CHECK(remote.requests() > SequentialStreams::kProofs);
}

TEST_CASE("range_scheduler: of an object in another order, only expected ranges are fetched",
          "[net][scheduler][unit]") {
  constexpr std::size_t kPiece = 100'000;
  constexpr auto kMany = 3 * SequentialStreams::kProofs;
  Remote remote(8'000'000);
  const RemoteFile file(remote.scheduler, remote.object, FetchAhead::as_expected);
  std::string got(kPiece, '\0');
  const auto out = std::as_writable_bytes(std::span(got));
  for (std::size_t i = 0; i < kMany; ++i) {
    REQUIRE(file.read_at(i * kPiece, out));
    REQUIRE(got == remote.content.substr(i * kPiece, kPiece));
  }
  CHECK(remote.requests() == kMany);
  CHECK(remote.stats.counts().bytes_fetched == kMany * kPiece);

  const std::array now{ByteRange{2'000'000, kPiece}};
  const std::array next{ByteRange{5'000'000, kPiece}, ByteRange{4'000'000, kPiece}};
  file.expect(now, next);
  CHECK(test::comes_true([&] { return remote.requests() == kMany + 3; }));
  // A read that comes earlier makes a request for what is next one of its own.
  CHECK(test::comes_true([&] { return remote.stats.counts().prefetched_bytes == 2 * kPiece; }));
  for (const auto offset : {2'000'000U, 4'000'000U, 5'000'000U}) {
    REQUIRE(file.read_at(offset, out));
    REQUIRE(got == remote.content.substr(offset, kPiece));
  }
  file.expect(now, next);  // all of it is there
  CHECK(remote.requests() == kMany + 3);
  CHECK(remote.stats.counts().prefetched_bytes == 2 * kPiece);
}

TEST_CASE("range_scheduler: of what comes next, as much is fetched as there is room for",
          "[net][scheduler][unit]") {
  constexpr std::size_t kPiece = 1'000'000;
  constexpr std::size_t kMemory = 12 << 20;  // windows of a third of it
  Remote remote(20'000'000, {}, nullptr, {.memory_bytes = kMemory});
  const RemoteFile file(remote.scheduler, remote.object, FetchAhead::as_expected);
  std::vector<ByteRange> next;
  for (std::uint64_t i = 0; i < 20; ++i) next.push_back({i * kPiece, kPiece});
  file.expect({}, next);
  CHECK(test::comes_true([&] { return remote.stats.counts().bytes_fetched == 4 * kPiece; }));
  // The reader has come a part of the way.
  file.expect({}, std::span(next).subspan(2));
  CHECK(test::comes_true([&] { return remote.stats.counts().bytes_fetched == 6 * kPiece; }));
}

// Answers each request at once, as a server does whose round trip is 50 ms and whose link has
// 100 MB/s.
class FarTransport final : public Transport {
 public:
  Ticket submit(HttpRequest request, Done done) override {
    const auto wanted = request.headers.find("range").value_or("").substr(6);  // behind "bytes="
    const auto place = "bytes " + std::string(wanted) + "/*";
    const auto size = parse_content_range(place)->range->size;
    HttpAnswer answer;
    answer.status = 206;
    answer.headers.add("ETag", "\"e\"");
    answer.headers.add("Content-Range", place);
    answer.body.resize(size);
    answer.first_byte = std::chrono::milliseconds(50);
    answer.total = answer.first_byte + std::chrono::nanoseconds(10 * size);
    bytes += size;
    done(std::move(answer));
    return 0;
  }
  Ticket call_at(Clock::time_point, std::function<void()>) override { return 0; }
  void cancel(Ticket) override {}
  // Time stands still, so that the rate of all connections is never known.
  Clock::time_point now() const override { return begin_; }

  std::uint64_t bytes = 0;  // of all requests

 private:
  const Clock::time_point begin_ = Clock::now();
};

TEST_CASE("range_scheduler: a reader from the beginning of a far object fills the pipe at once",
          "[net][scheduler][unit]") {
  constexpr std::uint64_t kSize = 100 << 20;
  FarTransport transport;
  NetStats stats;
  test::QuietHealth log;
  RequestQueue queue(transport, stats, log.health);
  BodyPool bodies;
  RangeScheduler scheduler(queue, stats, bodies, nullptr, {});
  // Opens an object, and reads from its beginning.  Returns the bytes that were requested.
  const auto read_from = [&](int number, std::uint64_t bytes) {
    HttpHeaders headers;
    headers.add("ETag", "\"e\"");
    const auto version = make_version("far", std::to_string(number), kSize, headers);
    const RemoteFile file(scheduler,
                          std::make_shared<RemoteObject>(version, [version](ByteRange range) {
                            Call call;
                            call.make = [=]() -> Result<HttpRequest> {
                              HttpRequest request;
                              pin(request, version, range);
                              return request;
                            };
                            call.judge = [=](const auto& answer) {
                              return check_range_answer(answer, version, range);
                            };
                            return call;
                          }));
    std::vector<std::byte> out(100'000);
    transport.bytes = 0;
    REQUIRE(file.read_at(kSize - 10, std::span(out).first(10)));
    CHECK(transport.bytes == RemoteFile::kTailBytes);
    transport.bytes = 0;
    for (std::uint64_t at = 0; at < bytes; at += out.size()) REQUIRE(file.read_at(at, out));
    return transport.bytes;
  };
  // The pipe holds 5 MB, and the smallest window is 1 MiB.
  for (int number = 0; number < 2; ++number) {
    const auto bytes = read_from(number, 100'000);
    CHECK(bytes > 3'500'000);
    CHECK(bytes < 8'000'000);
  }
  // Readers that want no more than the beginning make the next one careful.
  CHECK(read_from(2, 100'000) < 1'300'000);
  // A reader that goes on ends that.
  read_from(3, 30'000'000);
  CHECK(read_from(4, 100'000) > 3'500'000);
}

TEST_CASE("remote_file: requests go on while another file of the object is open",
          "[net][remote_file][race]") {
  std::atomic<bool> open{false};
  Remote* self = nullptr;
  Remote remote(1'000'000, [&](const ServedRequest& request) {
    test::comes_true([&] { return open.load(); });
    return served_range(request, self->content, {{"ETag", "\"e\""}});
  });
  self = &remote;
  const RemoteFile file(remote.scheduler, remote.object);
  file.expect(std::array{ByteRange{0, 1000}}, {});
  REQUIRE(test::comes_true([&] { return remote.requests() == 1; }));
  {
    const RemoteFile other(remote.scheduler, remote.object);
  }
  open.store(true);
  CHECK(remote.read(0, 1000) == remote.content.substr(0, 1000));
  CHECK(remote.requests() == 1);
}

// Oracle: the content itself, for any mixture of readers, with a memory that is too small for it.
TEST_CASE("range_scheduler: many readers at random", "[net][scheduler][race]") {
  Remote remote(2'000'000, {}, nullptr, {.memory_bytes = 300'000});
  std::atomic<int> wrong{0};
  test::on_threads(8, [&](std::size_t thread) {
    std::mt19937_64 random(thread);
    for (int i = 0; i < 60; ++i) {
      const auto size = 1 + random() % 50'000;
      const auto offset = random() % (2'000'000 - size);
      if (remote.read(offset, size) != remote.content.substr(offset, size)) wrong.fetch_add(1);
    }
  });
  CHECK(wrong.load() == 0);
}

TEST_CASE("remote_file: the end is fetched in one go", "[net][remote_file][unit]") {
  Remote remote(1'000'000);
  const RemoteFile file(remote.scheduler, remote.object);
  CHECK(file.size() == 1'000'000U);
  std::string out(100, '\0');
  // A trailer, then the index before it.
  REQUIRE(file.read_at(999'900, std::as_writable_bytes(std::span(out))));
  CHECK(out == remote.content.substr(999'900));
  REQUIRE(file.read_at(950'000, std::as_writable_bytes(std::span(out))));
  CHECK(out == remote.content.substr(950'000, 100));
  CHECK(remote.requests() == 1);
}

TEST_CASE("part_store: the least recently used part goes first, and the budget holds",
          "[net][part_store][unit]") {
  PartStore store(1000);
  const ContentKey key{1, 2};
  const auto part = [](std::uint64_t offset, std::size_t size) {
    return Part{offset, std::make_shared<const std::vector<std::byte>>(size)};
  };
  for (std::uint64_t i = 0; i < 5; ++i) store.insert(key, part(i * 200, 200));
  REQUIRE(store.find(key, 0));
  store.insert(key, part(5000, 200));
  CHECK(store.find(key, 0));
  CHECK_FALSE(store.find(key, 200));
  CHECK(store.bytes() == 1000);
  CHECK(store.next_begin(key, 0) == 400);
  store.insert(key, part(450, 10));  // overlaps
  CHECK(store.bytes() == 1000);
  store.reserve(500);
  CHECK(store.bytes() <= 500);
  store.insert(key, part(9000, 2000));  // larger than all
  CHECK_FALSE(store.find(key, 9000));
  CHECK_FALSE(store.find({3, 4}, 0));
}

}  // namespace
}  // namespace framefs::net::range_scheduler_test
